// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/open_url.h"

#include <charconv>

#include "base/address.h"
#include "base/text.h"
#include "holdfast/redis.h"

namespace holdfast::redis {
namespace {

constexpr const char* known = "known are prefix=, db=, unsafe=allow, and for rediss: cacert=, cert= and key=";

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

Status read_db(std::string_view text, Options& options) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.db);
  const bool number = error == std::errc{} && end == text.data() + text.size() && options.db >= 0;
  // Not repeated: it may be a part of a password.
  return number ? ok() : invalid("redis: behind the host stands the number of a database, like /0");
}

Status read_address(const Url& url, Options& options) {
  auto address = parse_address(url.rest);
  if (!address) return std::move(address).error();
  if (address->has_user && !address->has_password)
    return invalid("redis: a user without a password cannot log in; write //user:password@host");
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  if (!address->host.empty()) options.host = std::move(address->host);
  if (address->port != 0) options.port = address->port;
  return address->path.empty() ? ok() : read_db(address->path, options);
}

// //user:password@/path/of/the.sock: what others write before the path, and nothing else can stand there.
Status read_socket(const Url& url, Options& options) {
  const std::string_view rest = url.rest;
  const std::size_t slash = rest.starts_with("//") ? rest.find('/', 2) : std::string_view::npos;
  if (slash == std::string_view::npos || slash + 1 == rest.size())
    return invalid("redis+unix: names no socket; write redis+unix:///path/of/the.sock");
  auto address = parse_address(rest.substr(0, slash));
  if (!address) return std::move(address).error();
  if (!address->host.empty() || address->port != 0)
    return invalid("redis+unix: has a host; write redis+unix:///path, with three /");
  if (address->has_user && !address->has_password)
    return invalid("redis+unix: a user without a password cannot log in; write //user:password@/path");
  auto path = percent_decoded(rest.substr(slash));
  if (!path) return std::move(path).error();
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  options.socket = *std::move(path);
  return ok();
}

Status read_parameter(const std::string& name, const std::string& value, const Url& url, Options& options) {
  if (name == "prefix") {
    options.prefix = value;
  } else if (name == "db") {
    return read_db(value, options);
  } else if (name == "unsafe") {
    if (value != "allow") return invalid("unsafe=" + printable(value) + " means nothing; write unsafe=allow");
    options.allow_unsafe = true;
  } else if (options.tls && name == "cacert") {
    options.cacert = value;
  } else if (options.tls && name == "cert") {
    options.cert = value;
  } else if (options.tls && name == "key") {
    options.key = value;
  } else {
    return invalid("\"" + printable(name) + "\" is not a parameter of " + url.scheme + ": " + known);
  }
  return ok();
}

}  // namespace

Result<std::shared_ptr<Origin>> open_url(const Url& url) {
  Options options;
  options.tls = url.scheme == "rediss";
  if (Status s = url.scheme == "redis+unix" ? read_socket(url, options) : read_address(url, options); !s)
    return std::move(s).error();
  for (const auto& [name, value] : url.parameters) {
    if (Status s = read_parameter(name, value, url, options); !s) return std::move(s).error();
  }
  return origin(std::move(options));
}

}  // namespace holdfast::redis
