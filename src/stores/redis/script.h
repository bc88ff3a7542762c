// SPDX-License-Identifier: Apache-2.0
// script.h - Lua that the server runs.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/redis.h"
#include "stores/redis/config.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {

// A script and the hash by which the server knows it.  The server may forget it at any time (SCRIPT FLUSH, a
// restart): then it is sent whole, which the server remembers again.
struct Script {
  // Of these pieces, one behind the other.
  explicit Script(std::initializer_list<std::string_view> lua);
  explicit Script(std::string lua);
  const std::string text;
  const std::string hash;  // SHA-1, hex
};

// All that is asked of leases that lie in one way.
struct Scripts {
  Script apply, leases, others, places, purge;
  Script job_enqueue, job_claim, job_renew, job_finish, job_list, job_change, job_tick, job_purge;
};
const Scripts& scripts_for(Layout layout);
// Where TIME is always that moment since 1970.  Leases still end by the server's clock: it expires keys
// itself.
std::shared_ptr<const Scripts> scripts_at(Layout layout, Micros now);
const Scripts& scripts_of(const StoreConfig& config);

// Runs it with the words that `add` puts behind its name and number of keys; so many of these there are.
// Throws Failure; the server's errors are among the answers.
template <class Add>
Answer run(Wire& wire, const Script& script, std::size_t keys, std::size_t words, Add add, Instant until) {
  const auto ask = [&](std::string_view verb, std::string_view what) {
    Command command = wire.command(3 + keys + words);
    command.word(verb).word(what).number(keys);
    add(command);
    wire.send(until);
    return wire.receive(until);
  };
  Answer answer = ask("EVALSHA", script.hash);
  const bool unknown = answer->is_error() && answer->text().starts_with("NOSCRIPT");
  return unknown ? ask("EVAL", script.text) : std::move(answer);
}

}  // namespace holdfast::redis
