// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/open_url.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/redis.h"

namespace holdfast::redis {
namespace {

constexpr const char* known =
    "write prefix=, db=, layout=, accept=TOPIC or unsafe=allow, and for rediss: cacert=, cert= or key=";

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

// Else what is before the ? may be the begin of a password.
bool at_end(const Url& url) {
  return std::none_of(url.parameters.begin(), url.parameters.end(), [](const auto& parameter) {
    return (parameter.first + parameter.second).find('@') != std::string::npos;
  });
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

// What has been read so far.
struct Reading {
  Options options;
  std::optional<int> db;

  Status choose(int chosen) {
    if (db && *db != chosen)
      return invalid("redis: two databases are given, " + std::to_string(*db) + " and " +
                     std::to_string(chosen) + "; write one, as /" + std::to_string(chosen) +
                     " or db=" + std::to_string(chosen));
    db = options.db = chosen;
    return Status{};
  }
};

Status read_address(const Url& url, Reading& read) {
  Options& options = read.options;
  auto address = parse_address(url.rest, at_end(url));
  if (!address) return std::move(address).error();
  if (address->has_user && !address->has_password)
    return invalid("redis: a user without a password cannot log in; write //user:password@host");
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  if (!address->host.empty()) options.host = std::move(address->host);
  if (address->port != 0) options.port = address->port;
  if (address->path.empty()) return Status{};
  if (const auto db = number(address->path)) return read.choose(*db);
  return invalid("redis: the host must be followed by the number of a database, like /0" +
                 (address->clear ? ", not \"" + printable(address->path) + "\"" : ""));
}

// //user:password@/path/of/the.sock: what others write before the path, and nothing else can stand there.
Status read_socket(const Url& url, Options& options) {
  const std::string_view rest = url.rest;
  const bool alone = !rest.starts_with("//");  // redis+unix:/path
  const std::size_t slash = rest.find('/', alone ? 0 : 2);
  if (slash == std::string_view::npos || slash + 1 == rest.size())
    return invalid("redis+unix: no socket is given; write redis+unix:///path/of/the.sock");
  if (alone && slash != 0)
    return invalid("redis+unix: the path of the socket does not start with /; write redis+unix:///path");
  auto address = parse_address(alone ? "//" : rest.substr(0, slash));
  if (!address) return std::move(address).error();
  if (!address->host.empty() || address->port != 0)
    return invalid(
        "redis+unix: a host is given, but a socket has none; write redis+unix:///path, with three /");
  if (address->has_user && !address->has_password)
    return invalid("redis+unix: a user without a password cannot log in; write //user:password@/path");
  auto path = percent_decoded(rest.substr(slash));
  if (!path) return std::move(path).error();
  options.user = std::move(address->user);
  options.password = std::move(address->password);
  options.socket = *std::move(path);
  return Status{};
}

Status read_parameter(const std::string& name, const std::string& value, const Url& url, Reading& read) {
  Options& options = read.options;
  const auto shown = [&](const std::string& text) { return at_end(url) ? printable(text) : "***"; };
  if (name == "prefix") {
    options.prefix = value;
  } else if (name == "db") {
    if (const auto db = number(value)) return read.choose(*db);
    return invalid("redis: db=" + shown(value) + " is not the number of a database; write one like db=0");
  } else if (name == "layout") {
    if (value != "own" && value != "active_job_lock")
      return invalid("layout=" + shown(value) +
                     ": invalid value; write layout=own or layout=active_job_lock");
    options.layout = value == "own" ? Layout::own : Layout::active_job_lock;
  } else if (name == "unsafe") {
    if (value != "allow") return invalid("unsafe=" + shown(value) + ": invalid value; write unsafe=allow");
    options.allow_unsafe = true;
  } else if (name == "accept") {
    options.accept = core::topics_in(value);
  } else if (options.tls && name == "cacert") {
    options.cacert = value;
  } else if (options.tls && name == "cert") {
    options.cert = value;
  } else if (options.tls && name == "key") {
    options.key = value;
  } else {
    return invalid("\"" + shown(name) + "\" is not a parameter of " + url.scheme + ": URLs; " + known);
  }
  return Status{};
}

}  // namespace

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Reading read;
  read.options.tls = url.scheme == "rediss";
  if (Status s = url.scheme == "redis+unix" ? read_socket(url, read.options) : read_address(url, read); !s)
    return std::move(s).error();
  for (const auto& [name, value] : url.parameters) {
    if (Status s = read_parameter(name, value, url, read); !s) return std::move(s).error();
  }
  return store(std::move(read.options));
}

}  // namespace holdfast::redis
