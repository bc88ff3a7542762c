// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/open_url.h"

#include <algorithm>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/mariadb.h"

namespace holdfast::mariadb {
namespace {

constexpr const char* known =
    "write table=, layout=darwin, socket=, password=, tls=require, ssl-ca=, ssl-cert=, ssl-key=, "
    "accept=TOPIC or unsafe=allow";

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

// Else what is before the ? may be the begin of a password.
bool at_end(const Url& url) {
  return std::none_of(url.parameters.begin(), url.parameters.end(), [](const auto& parameter) {
    return parameter.first != "password" &&
           (parameter.first + parameter.second).find('@') != std::string::npos;
  });
}

Status read_address(const Url& url, Options& options) {
  auto address = parse_address(url.rest, at_end(url));
  if (!address) return std::move(address).error();
  if (address->path.find('/') != std::string::npos)
    return invalid(url.scheme + ": the host must be followed by the name of one database, like /app" +
                   (address->clear ? ", not \"" + printable(address->path) + "\"" : ""));
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  if (!address->host.empty()) options.host = std::move(address->host);
  if (address->port != 0) options.port = address->port;
  options.database = std::move(address->path);
  return Status{};
}

Status read_parameter(const std::string& name, const std::string& value, const Url& url, Options& options) {
  const auto shown = [&](const std::string& text) { return at_end(url) ? printable(text) : "***"; };
  const auto only = [&](const char* right) -> Status {
    if (value == right) return Status{};
    return invalid(name + "=" + shown(value) + ": invalid value; write " + name + "=" + right);
  };
  if (name == "table") {
    options.table = value;
  } else if (name == "password") {
    options.password = value;
  } else if (name == "socket") {
    options.socket = value;
  } else if (name == "ssl-ca") {
    options.ssl_ca = value;
  } else if (name == "ssl-cert") {
    options.ssl_cert = value;
  } else if (name == "ssl-key") {
    options.ssl_key = value;
  } else if (name == "layout") {
    options.layout = Layout::darwin;
    return only("darwin");
  } else if (name == "tls") {
    options.tls = true;
    return only("require");
  } else if (name == "unsafe") {
    options.allow_unsafe = true;
    return only("allow");
  } else if (name == "accept") {
    options.accept = core::topics_in(value);
  } else {
    return invalid("\"" + shown(name) + "\" is not a parameter of " + url.scheme + ": URLs; " + known);
  }
  return Status{};
}

}  // namespace

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Options options{.mysql = url.scheme == "mysql"};
  if (Status s = read_address(url, options); !s) return std::move(s).error();
  for (const auto& [name, value] : url.parameters) {
    if (Status s = read_parameter(name, value, url, options); !s) return std::move(s).error();
  }
  return store(std::move(options));
}

}  // namespace holdfast::mariadb
