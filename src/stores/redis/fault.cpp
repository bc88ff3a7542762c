// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/fault.h"

#include <string>

#include "base/text.h"

namespace holdfast::redis {
namespace {

struct Meaning {
  std::string_view code;  // the first word of the error
  Errc errc;
  const char* what;
  const char* remedy;
};

constexpr const char* too_many = "raise maxclients, or run fewer clients";
constexpr const char* no_cluster = "use a server that is not in a Cluster";
constexpr const char* in_cluster = "the server is part of a Redis Cluster, which is not supported";

// In each case the server refused the command before it began, or the script reports that it had not written
// anything yet (`error_reply` in leases.lua).
constexpr Meaning meanings[] = {
    {"LOADING", Errc::unavailable, "the server is still loading its data", "try again later"},
    {"BUSY", Errc::unavailable, "another client's script is running for a long time",
     "wait, or end it with SCRIPT KILL"},
    {"OOM", Errc::unavailable, "the server's memory is full", "raise maxmemory, or delete data"},
    {"MISCONF", Errc::unavailable, "the server cannot write its data to disk and accepts no writes",
     "see its log"},
    {"NOREPLICAS", Errc::unavailable, "the server has fewer replicas than min-replicas-to-write demands",
     "start replicas, or lower the setting"},
    {"MASTERDOWN", Errc::unavailable, "the server is a replica that has lost its primary",
     "use the URL of the primary"},
    {"CLUSTERDOWN", Errc::unavailable, "the server's cluster is down", no_cluster},
    {"TRYAGAIN", Errc::unavailable, "the server's cluster is moving keys", no_cluster},
    {"READONLY", Errc::refused, "the server is a replica and accepts no writes",
     "use the URL of the primary"},
    {"MOVED", Errc::refused, in_cluster, no_cluster},
    {"ASK", Errc::refused, in_cluster, no_cluster},
    {"CROSSSLOT", Errc::refused, in_cluster, no_cluster},
    {"NOAUTH", Errc::refused, "the server requires a password", "write redis://user:password@host"},
    {"WRONGPASS", Errc::refused, "the user or the password is wrong", "check both"},
    {"NOPERM", Errc::refused, "this user lacks a right", "give it the ACL of docs/stores/redis.md"},
    {"DENIED", Errc::refused, "the server is in protected mode", "set a password there"},
    {"WRONGTYPE", Errc::refused, "another program has written to a key that Holdfast uses",
     "use another key, or a prefix="},
};

std::string_view code_of(std::string_view from_server) {
  return from_server.substr(0, from_server.find(' '));
}

// Some servers repeat the words of a command that they do not like, a password among them.
std::string without_password(std::string_view text, const std::string& password) {
  std::string clean(text);
  if (password.empty()) return clean;
  for (std::size_t at = 0; (at = clean.find(password, at)) != std::string::npos; at += 3)
    clean.replace(at, password.size(), "***");
  return clean;
}

}  // namespace

Error to_error(std::string_view from_server, const StoreConfig& config, Errc otherwise) {
  const std::string words = printable(without_password(from_server.substr(0, 300), config.options.password));
  const std::string begin = printable(config.place) + ": ";
  const std::string_view code = code_of(from_server);
  if (code == "HALFDONE")
    return {Errc::in_doubt,
            begin + "the script failed after its first write, and it is not known what took effect (" +
                words.substr(9) + ")"};
  for (const Meaning& m : meanings) {
    if (code == m.code) return {m.errc, begin + m.what + " (" + words + "); " + m.remedy};
  }
  // Inside a script the same is said without the code: first by Redis 7.0, then by those since 7.2.
  if (from_server.find("The user executing the script") != std::string_view::npos ||
      from_server.find("ACL failure in script") != std::string_view::npos)
    return to_error("NOPERM " + std::string(from_server), config, otherwise);
  if (from_server.starts_with("ERR max number of clients"))
    return {Errc::unavailable, begin + "the server has too many connections (" + words + "); " + too_many};
  if (from_server.starts_with("ERR DB index"))
    return {Errc::refused, begin + "the server has no database " + std::to_string(config.options.db) + " (" +
                               words + "); use one from 0 to 15, or raise `databases` there"};
  if (from_server.find("Script killed by user") != std::string_view::npos)  // it can be only before it writes
    return {Errc::unavailable,
            begin + "somebody stopped the script before it wrote anything (" + words + "); try again"};
  if (from_server.starts_with("ERR unknown command"))
    return {Errc::refused, begin + "the server lacks a command (" + words + "); use Redis 6.2 or later"};
  return {otherwise, begin + "error from the server: " + words};
}

// "… one of the keys used as arguments" before Redis 7, "… to access a key" since.
bool denies_key(std::string_view from_server) {
  return code_of(from_server) == "NOPERM" && from_server.find(" key") != std::string_view::npos;
}

Error login_error(std::string_view from_server, const StoreConfig& config) {
  const std::string begin = printable(config.place) + ": ";
  if (from_server.starts_with("ERR unknown command"))
    return {Errc::refused, begin +
                               "cannot log in: the server does not know AUTH, so it is probably not a Redis "
                               "server; check host and port"};
  if (from_server.starts_with("ERR AUTH") || from_server.starts_with("ERR Client sent AUTH"))
    return {Errc::refused, begin + "the default user has no password there; write redis://host without one"};
  for (const Meaning& m : meanings) {
    if (code_of(from_server) == m.code)
      return {m.errc, begin + m.what + " (" + std::string(m.code) + "); " + m.remedy};
  }
  if (from_server.starts_with("ERR max number of clients"))
    return {Errc::unavailable, begin + "the server has too many connections; " + too_many};
  return {Errc::refused, begin + "the server refused user and password; check both"};
}

Error no_lease(std::string_view key, std::string_view what, const StoreConfig& config) {
  const std::string begin =
      "cannot lease the key \"" + printable(config.naming.prefix) + printable(key) + "\": ";
  if (what == "name")
    return {Errc::refused, begin + "keys that start with holdfast: are reserved; use another key"};
  if (what == "string without an expiry")
    return {Errc::refused,
            begin +
                "it seems to hold data of another program (it has no expiry and no owner of Holdfast); "
                "use another key, or keep leases apart with ?prefix= in the URL"};
  return {Errc::refused, begin + "it holds data of another program (a " + printable(what) +
                             "); use another key, or keep leases apart with ?prefix= in the URL"};
}

Error companion_overwritten(std::string_view key, std::string_view name, const StoreConfig& config) {
  return {Errc::refused, "cannot lease the key \"" + printable(config.naming.prefix) + printable(key) +
                             "\": another program has written to \"" + printable(name) +
                             "\"; delete that, or use another key"};
}

Error not_understood() {
  return {Errc::in_doubt,
          "unexpected reply from the server: it is not what Holdfast's scripts return; check that the URL "
          "leads to Redis itself, without a proxy that changes replies"};
}

Error clock_jumped() {
  return {Errc::unavailable,
          "the server's clock jumped during each of several attempts; check its time synchronisation, then "
          "try again"};
}

Answer checked(Answer answer, const StoreConfig& config, Errc otherwise) {
  if (answer.is_error()) throw_failure(to_error(answer.text(), config, otherwise));
  return answer;
}

Error wrong_protocol(std::string_view first, const StoreConfig& config) {
  const std::string begin = printable(config.place) + " is not a Redis server: ";
  if (first.starts_with("HTTP/"))
    return {Errc::refused, begin + "it answers like a web server; check host and port"};
  if (first.starts_with("SSH-"))
    return {Errc::refused, begin + "it answers like an SSH server; check host and port"};
  if (first.front() == '\x15')
    return {Errc::refused, begin + "it answers in TLS; write rediss:// instead of redis://"};
  return {Errc::refused, begin + "its first reply starts with \"" + printable(first.substr(0, 20)) +
                             "\"; check host and port"};
}

}  // namespace holdfast::redis
