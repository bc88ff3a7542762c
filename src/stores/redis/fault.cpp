// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/fault.h"

#include <string>

#include "base/text.h"

namespace holdfast::redis {
namespace {

struct Meaning {
  std::string_view code;  // the first word of the error
  Errc what;
  const char* advice;
};

// In each case the server has looked at the command and not begun it, or the script has told us that it had
// not written anything yet (lua/apply.lua).
constexpr Meaning meanings[] = {
    {"LOADING", Errc::unavailable, "it has just been started and reads its data"},
    {"BUSY", Errc::unavailable, "a script of somebody's is running; nothing of ours takes so long"},
    {"OOM", Errc::unavailable, "its memory is full; give it more maxmemory, or let it keep less"},
    {"MISCONF", Errc::unavailable, "it cannot write its data to disk, and so takes no more"},
    {"NOREPLICAS", Errc::unavailable, "it has fewer replicas than min-replicas-to-write asks for"},
    {"MASTERDOWN", Errc::unavailable, "it is a replica that has lost its primary"},
    {"CLUSTERDOWN", Errc::unavailable, "its cluster is down"},
    {"TRYAGAIN", Errc::unavailable, "its cluster is moving keys"},
    {"READONLY", Errc::refused, "it is a replica; leases have to be written on the primary"},
    {"MOVED", Errc::refused, "it is one of a Cluster, which is not supported; use a server of its own"},
    {"ASK", Errc::refused, "it is one of a Cluster, which is not supported; use a server of its own"},
    {"CROSSSLOT", Errc::refused, "it is one of a Cluster, which is not supported; use a server of its own"},
    {"NOAUTH", Errc::refused, "it wants a password: redis://user:password@host"},
    {"WRONGPASS", Errc::refused, "user or password are wrong"},
    {"NOPERM", Errc::refused, "the user may not do this; docs/stores/redis.md has the ACL that is enough"},
    {"DENIED", Errc::refused, "it is in protected mode; it has to be given a password"},
    {"WRONGTYPE", Errc::refused, "a key of ours has been written by somebody else"},
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
  const std::string begin = printable(config.place) + " ";
  const std::string_view code = code_of(from_server);
  if (code == "HALFDONE") return {Errc::in_doubt, begin + "stopped half-way: " + words.substr(9)};
  for (const Meaning& m : meanings) {
    if (code == m.code) return {m.what, begin + "says no: " + m.advice + " (" + words + ")"};
  }
  // Inside a script the same is said without the code: first by Redis 7.0, then by those since 7.2.
  if (from_server.find("The user executing the script") != std::string_view::npos ||
      from_server.find("ACL failure in script") != std::string_view::npos)
    return to_error("NOPERM " + std::string(from_server), config, otherwise);
  if (from_server.starts_with("ERR max number of clients"))
    return {Errc::unavailable, begin + "has too many connections already (" + words + ")"};
  if (from_server.starts_with("ERR DB index"))
    return {Errc::refused, begin + "has no database " + std::to_string(config.options.db) +
                               "; unless it is told otherwise it has 0 to 15 (" + words + ")"};
  if (from_server.find("Script killed by user") != std::string_view::npos)  // it can be only before it writes
    return {Errc::unavailable, begin + "was told to stop the script (" + words + ")"};
  if (from_server.starts_with("ERR unknown command"))
    return {Errc::refused, begin + "lacks a command; it takes Redis 6.2 or newer (" + words + ")"};
  return {otherwise, begin + "says no: " + words};
}

// "… one of the keys used as arguments" before Redis 7, "… to access a key" since.
bool denies_key(std::string_view from_server) {
  return code_of(from_server) == "NOPERM" && from_server.find(" key") != std::string_view::npos;
}

Error login_error(std::string_view from_server, const StoreConfig& config) {
  const std::string begin = printable(config.place) + " ";
  if (from_server.starts_with("ERR unknown command"))
    return {Errc::refused, begin + "knows no AUTH; is it a Redis server?"};
  if (from_server.starts_with("ERR AUTH") || from_server.starts_with("ERR Client sent AUTH"))
    return {Errc::refused, begin + "has no password for the default user; write redis://host without one"};
  for (const Meaning& m : meanings) {
    if (code_of(from_server) == m.code)
      return {m.what, begin + "says no: " + m.advice + " (" + std::string(m.code) + ")"};
  }
  if (from_server.starts_with("ERR max number of clients"))
    return {Errc::unavailable, begin + "has too many connections already"};
  return {Errc::refused, begin + "does not take user and password"};
}

Error no_lease(std::string_view key, std::string_view what, const StoreConfig& config) {
  const std::string begin =
      "the key \"" + printable(config.naming.prefix()) + printable(key) + "\" cannot be leased: ";
  if (what == "name") return {Errc::refused, begin + "names that begin with holdfast: are ours"};
  if (what == "string without an expiry")
    return {Errc::refused, begin +
                               "its value looks like no lease (no expiry, no owner of ours) but like data of "
                               "some other program; use another key, or keep leases apart with ?prefix= in "
                               "the URL"};
  return {Errc::refused,
          begin + "it is a " + printable(what) + " of some other program; use another key, or a prefix="};
}

Error wrong_protocol(std::string_view first, const StoreConfig& config) {
  const std::string begin = printable(config.place) + " is no Redis: ";
  if (first.starts_with("HTTP/")) return {Errc::refused, begin + "it answers as a web server does"};
  if (first.starts_with("SSH-")) return {Errc::refused, begin + "it answers as an SSH server does"};
  if (first.front() == '\x15')
    return {Errc::refused, begin + "it answers in TLS; write rediss:// in place of redis://"};
  return {Errc::refused, begin + "its first answer begins with \"" + printable(first.substr(0, 20)) + "\""};
}

}  // namespace holdfast::redis
