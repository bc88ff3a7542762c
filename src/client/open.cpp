// SPDX-License-Identifier: Apache-2.0
// open.cpp - from a URL to a client: a plain table of factories.
#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/client.h"
#include "holdfast/memory.h"
#include "holdfast/spi/store.h"
#include "holdfast/sqlite.h"
#ifdef HOLDFAST_MARIADB
#include "stores/mariadb/open_url.h"
#endif
#ifdef HOLDFAST_MONGODB
#include "stores/mongodb/open_url.h"
#endif
#ifdef HOLDFAST_POSTGRES
#include "stores/postgres/open_url.h"
#endif
#ifdef HOLDFAST_REDIS
#include "stores/redis/open_url.h"
#endif

namespace holdfast {
namespace {

using MadeStore = Result<std::shared_ptr<Store>>;

Error unknown_parameter(const Url& url, const std::string& name, const char* known) {
  return {Errc::invalid,
          "\"" + printable(name) + "\" is not a parameter of " + url.scheme + ": URLs; " + known};
}

MadeStore open_memory(const Url& url) {
  if (!url.rest.empty())
    return Error{Errc::invalid,
                 "memory: takes no path, but \"" + printable(url.rest) + "\" is given; write memory:"};
  if (!url.parameters.empty()) return unknown_parameter(url, url.parameters.front().first, "there are none");
  return memory::store(memory::make_database());
}

MadeStore open_sqlite(const Url& url) {
  auto path = percent_decoded(url.rest);
  if (!path) return std::move(path).error();
  if (path->empty()) return Error{Errc::invalid, "sqlite: names no file; write sqlite:PATH"};
  if (path->starts_with("//") && !path->starts_with("///"))
    return Error{Errc::invalid, "sqlite:" + printable(*path) +
                                    " names a host, which SQLite does not have; write sqlite:PATH"};
  if (path->starts_with("~"))
    return Error{Errc::invalid, "sqlite:" + printable(*path) +
                                    ": ~ is not expanded in a URL; write the whole path, or sqlite:$HOME/…"};
  sqlite::Options options{.path = *std::move(path)};
  for (const auto& [name, value] : url.parameters) {
    if (name == "table") {
      options.table = value;
    } else if (name == "unsafe" && value == "allow") {
      options.allow_unsafe = true;
    } else if (name == "unsafe") {
      return Error{Errc::invalid, "unsafe=" + printable(value) + ": invalid value; write unsafe=allow"};
    } else if (name == "accept") {
      options.accept = core::topics_in(value);
    } else {
      return unknown_parameter(url, name, "write table=NAME, accept=TOPIC or unsafe=allow");
    }
  }
  return sqlite::store(std::move(options));
}

[[maybe_unused]] MadeStore not_built(const Url& url) {
  return Error{Errc::invalid,
               "this build of holdfast does not support " + url.scheme + ": URLs; install one that does"};
}

struct Factory {
  std::string_view scheme;
  MadeStore (*open)(const Url&);
};
#ifdef HOLDFAST_POSTGRES
constexpr auto open_postgres = postgres::open_url;
#else
constexpr auto open_postgres = not_built;
#endif
#ifdef HOLDFAST_REDIS
constexpr auto open_redis = redis::open_url;
#else
constexpr auto open_redis = not_built;
#endif
#ifdef HOLDFAST_MONGODB
constexpr auto open_mongodb = mongodb::open_url;
#else
constexpr auto open_mongodb = not_built;
#endif
#ifdef HOLDFAST_MARIADB
constexpr auto open_mariadb = mariadb::open_url;
#else
constexpr auto open_mariadb = not_built;
#endif

constexpr Factory factories[] = {
    {"sqlite", open_sqlite},   {"postgres", open_postgres},   {"postgresql", open_postgres},
    {"redis", open_redis},     {"rediss", open_redis},        {"redis+unix", open_redis},
    {"mongodb", open_mongodb}, {"mongodb+srv", open_mongodb}, {"mariadb", open_mariadb},
    {"mysql", open_mariadb},   {"memory", open_memory}};

}  // namespace

Result<std::shared_ptr<Store>> try_store(std::string_view text) {
  auto url = parse_url(text);
  if (!url) return std::move(url).error();
  for (const Factory& factory : factories) {
    if (factory.scheme == url->scheme) return factory.open(*url);
  }
  std::string known;
  for (const Factory& factory : factories)
    known += (known.empty() ? "" : ", ") + std::string(factory.scheme) + ":";
  return Error{Errc::invalid,
               "\"" + printable(url->scheme) + ":\" is not a known kind of store; write one of " + known};
}

Result<Client> try_open(std::string_view url, ClientOptions options) {
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  return Client::try_make(*std::move(store), std::move(options));
}

Result<Client> Client::try_open(std::string_view url, ClientOptions options) {
  return holdfast::try_open(url, std::move(options));
}

Client open(std::string_view url, ClientOptions options) { return try_open(url, std::move(options)).value(); }

}  // namespace holdfast
