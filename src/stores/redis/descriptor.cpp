// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/descriptor.h"

#include <charconv>
#include <optional>

#include "base/driver.h"
#include "base/text.h"
#include "core/url_parameters.h"
#include "holdfast/redis.h"
#include "stores/redis/fence.lua.h"
#include "stores/redis/findings.h"
#include "stores/redis/protocol.h"
#include "stores/redis/tls.h"

namespace holdfast::redis {
namespace {

constexpr std::string_view store_titles[] = {"Redis"};
constexpr std::string_view url_schemes[] = {"redis", "rediss", "redis+unix"};

constexpr UrlParameter url_parameters[] = {
    {"prefix", "TEXT", "stands before every key"},
    {"db", "NUMBER", "the database, as /NUMBER behind the host", "0"},
    {"layout", "own|active_job_lock", "active_job_lock: works beside that Ruby gem, on its keys", "own"},
    {"cacert", "FILE", "the authority that signed the server's certificate", "those of the system", "rediss"},
    {"cert", "FILE", "the certificate of the client, if the server wants one", "", "rediss"},
    {"key", "FILE", "the key of that certificate", "", "rediss"},
    core::accept_parameter,
    core::unsafe_parameter,
};
constexpr core::TextParameter<Options> text_parameters[] = {{"prefix", &Options::prefix},
                                                            {"cacert", &Options::cacert},
                                                            {"cert", &Options::cert},
                                                            {"key", &Options::key}};

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

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
  auto address = parse_address(url.rest, core::may_be_quoted(url, store_descriptor));
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

Result<std::shared_ptr<Store>> open_url(const Url& url) {
  Reading read;
  read.options.tls = url.scheme == "rediss";
  const auto other = [&](const std::string& name, const std::string& value) -> Status {
    if (name == "layout") {
      read.options.layout = value == "own" ? Layout::own : Layout::active_job_lock;
      return Status{};
    }
    if (const auto db = number(value)) return read.choose(*db);
    return invalid("redis: db=" + (core::may_be_quoted(url, store_descriptor) ? printable(value) : "***") +
                   " is not the number of a database; write one like db=0");
  };
  if (Status s = url.scheme == "redis+unix" ? read_socket(url, read.options) : read_address(url, read); !s)
    return std::move(s).error();
  if (Status s = core::read_parameters<Options>(url, store_descriptor, read.options, text_parameters, other);
      !s)
    return std::move(s).error();
  return store(std::move(read.options));
}

std::vector<StoreLibrary> driver_versions() {
  constexpr int version_only = 6;  // OPENSSL_VERSION_STRING
  return {{"hiredis", hiredis_version()},
          {"OpenSSL", text_or_empty(call_driver<const char* (*)(int)>(libcrypto_soname, "OpenSSL_version",
                                                                      version_only))}};
}

}  // namespace

constinit const StoreDescriptor store_descriptor{
    .name = "redis",
    .titles = store_titles,
    .schemes = url_schemes,
    .url = "redis://HOST",
    .page = "docs/stores/redis.md",
    .capabilities = {.push = true, .fair = true, .jobs = true},
    .parameters = url_parameters,
    .topics = finding_topics,
    .fence = fence_lua,
    .open = open_url,
    .libraries = driver_versions,
};

}  // namespace holdfast::redis
