// SPDX-License-Identifier: Apache-2.0
// script.h - runs the Lua of leases.lua and jobs.lua on the server.
#pragma once
#include <string>
#include <string_view>

#include "stores/redis/config.h"
#include "stores/redis/lua.h"
#include "stores/redis/wire.h"

namespace holdfast::redis {

// A script and the hash by which the server knows it.
struct Script {
  std::string_view text, sha1;
};
Script script_for(Lua lua, Layout layout) noexcept;

// The text of a script for which TIME is always that moment since 1970.  Leases still end by the server's
// clock: it expires keys itself.
std::string text_at(std::string_view text, Micros now);

// Runs the script with the words that `add` puts behind its name and number of keys; so many of these there
// are.  The server may forget a script at any time (SCRIPT FLUSH, a restart): then it gets the whole text,
// which it remembers again.  Throws Failure; the server's errors are among the answers.
template <class Add>
Answer run(Wire& wire, const StoreConfig& config, Lua lua, std::size_t keys, std::size_t words, Add add,
           Instant until) {
  const auto send = [&](std::string_view verb, std::string_view what) {
    Command command = wire.command(3 + keys + words);
    command.word(verb).word(what).number(keys);
    add(command);
    wire.send(until);
    return wire.receive(until);
  };
  const Script script = script_for(lua, config.options.layout);
  if (config.fixed_now) return send("EVAL", text_at(script.text, *config.fixed_now));
  Answer answer = send("EVALSHA", script.sha1);
  const bool unknown = answer->is_error() && answer->text().starts_with("NOSCRIPT");
  return unknown ? send("EVAL", script.text) : std::move(answer);
}

}  // namespace holdfast::redis
