// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/libraries.h"

#include <sqlite3.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#ifdef HOLDFAST_REDIS
#include <hiredis/hiredis.h>
#endif
#if __has_include(<curses.h>)
#include <curses.h>
#endif

#include "base/driver.h"
#include "base/mongoc_file.h"
#include "cli/setup/config_text.h"

namespace holdfast::cli {
namespace {

std::string numbers(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// What `name` of the driver answers, or nothing if there is none.
template <class Function, class... Args>
auto answer_of(const char* soname, const char* name, Args... args)
    -> std::optional<decltype(std::declval<Function>()(args...))> {
  Function function = nullptr;
  Driver driver(soname, "", {{name, &function}});
  if (!driver.load()) return std::nullopt;
  return function(args...);
}

std::string text_of(std::optional<const char*> answer) { return answer && *answer != nullptr ? *answer : ""; }

[[maybe_unused]] std::string libpq() {
  const auto version = answer_of<int (*)()>("libpq.so.5", "PQlibVersion");  // 150004
  return version ? std::to_string(*version / 10000) + "." + std::to_string(*version % 10000) : "";
}

[[maybe_unused]] std::string openssl() {
  constexpr int version_only = 6;  // OPENSSL_VERSION_STRING
  return text_of(answer_of<const char* (*)(int)>("libcrypto.so.3", "OpenSSL_version", version_only));
}

[[maybe_unused]] std::string mongoc() {
  const NoMongocFile no_file;
  return text_of(answer_of<const char* (*)()>(mongoc_soname, "mongoc_get_version"));
}

#ifdef HOLDFAST_REDIS
#define TEXT(word) #word
#define SONAME(number) TEXT(number)
// It does not tell its version; a library of that name has the header's.
std::string hiredis() {
  void* some = nullptr;
  Driver driver("libhiredis.so." SONAME(HIREDIS_SONAME), "", {{"redisConnectWithOptions", &some, true}});
  return driver.load() ? numbers(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH) : "";
}
#endif

std::vector<Library> drivers() {
  return {
      {"sqlite", "SQLite", ::sqlite3_libversion()},
#ifdef HOLDFAST_POSTGRES
      {"postgres", "libpq", libpq()},
#endif
#ifdef HOLDFAST_REDIS
      {"redis", "hiredis", hiredis()},
      {"redis", "OpenSSL", openssl()},
#endif
#ifdef HOLDFAST_MONGODB
      {"mongodb", "libmongoc", mongoc()},
#endif
#ifdef HOLDFAST_MARIADB
      {"mariadb", "libmariadb",
       text_of(answer_of<const char* (*)()>("libmariadb.so.3", "mysql_get_client_info"))},
#endif
  };
}

}  // namespace

std::vector<Library> libraries() {
  std::vector<Library> all = drivers();
  all.push_back({"", "CLI11", CLI11_VERSION});
  all.push_back(
      {"", "nlohmann-json",
       numbers(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)});
  all.push_back({"", "toml++", toml_version()});
#ifdef NCURSES_VERSION
  all.push_back({"", "ncurses", NCURSES_VERSION});
#endif
  return all;
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace holdfast::cli
