// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/admin.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/statement_list.h"
#include "stores/redis/fault.h"
#include "stores/redis/store_connection.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t keys_a_step = 200;

// In microseconds, without overflow; no lease is that old.
std::int64_t age_us(Millis length) {
  return length > std::chrono::hours(24 * 36525) ? -1 : std::chrono::duration_cast<Micros>(length).count();
}

// A word as redis-cli reads it.
std::string as_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-.:/@{}=", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  static constexpr char hex[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') text += '\\';
    byte < 0x20 || byte == 0x7f ? text.append({'\\', 'x', hex[byte >> 4], hex[byte & 15]}) : text += c;
  }
  return text + '"';
}

}  // namespace

Result<std::vector<std::string>> RedisStoreAdmin::plan(Instant until) { return complete_index(false, until); }

Result<std::vector<std::string>> RedisStoreAdmin::init(Instant until) { return complete_index(true, until); }

// Looks at each known key, a page at a time, so that the server answers others in between.  What a page needs
// is decided in one step, so nobody's grant or release is overtaken.  Each page gets as much time as the
// caller has: a server that answers is waited for, however many keys it has.
Result<std::vector<std::string>> RedisStoreAdmin::complete_index(bool make, Instant until) {
  const Naming& naming = session_.config().naming;
  const auto time_of_page = std::chrono::floor<Millis>(until - BootClock::now());
  auto commands = guarded([&]() -> Result<std::vector<std::string>> {
    std::vector<std::string> all;
    std::string after;
    while (true) {
      const Instant page_until = clamped_add(BootClock::now(), time_of_page);
      const auto keys = read_index(session_, {naming.index, "", after, keys_a_step}, page_until);
      if (keys.empty()) return all;
      const auto add = [&](Command& command) {
        command.words(naming.index, naming.held);
        for (const std::string& key : keys)
          LeaseNames(naming, key).add_lease(command).add(command, Beside::facts);
        command.number(naming.prefix.size()).number(make ? 1 : 0);
      };
      const Answer missing =
          checked(session_.ready(page_until).run(Lua::complete_held, 2 + 2 * keys.size(), 2, add, page_until),
                  session_.config());
      std::string command = "ZADD " + as_word(naming.held);
      for (std::size_t i = 0; i < missing.size(); ++i)
        command += " 0 " + as_word(keys.at(static_cast<std::size_t>(missing[i].number())));
      if (missing.size() > 0) all.push_back(std::move(command));
      if (keys.size() < keys_a_step) return all;
      after = keys.back();
    }
  });
  if (!commands && commands.error().in_doubt())
    commands.error().code = Errc::unavailable;  // adding them again is harmless
  return commands;
}

std::string RedisStoreAdmin::statements() const {
  const Layout layout = session_.config().options.layout;
  return core::statement_list(all_lua,
                              [&](std::size_t i) { return script_for(static_cast<Lua>(i), layout).text; });
}

Result<Purged> RedisStoreAdmin::purge(const Purge& what, Instant until) {
  return guarded([&]() -> Result<Purged> {
    Purged purged;
    purge_keys(what.free_for, purged, until);
    if (what.log_older_than != never) purge_log(what.log_older_than, purged, until);
    return purged;
  });
}

Result<Diagnosis> RedisStoreAdmin::diagnose(Instant until) {
  auto diagnosis =
      guarded([&]() -> Result<Diagnosis> { return redis::diagnose(session_.shared_config(), until); });
  if (!diagnosis && diagnosis.error().in_doubt())
    diagnosis.error().code = Errc::unavailable;  // nothing was to be changed
  return diagnosis;
}

void RedisStoreAdmin::purge_keys(Millis free_for, Purged& purged, Instant until) {
  const Naming& naming = session_.config().naming;
  std::string after;
  while (true) {
    const auto keys = read_index(session_, {naming.index, "", after, keys_a_step}, until);
    if (keys.empty()) return;
    const auto add = [&](Command& command) {
      command.words(naming.kept, naming.index, naming.held, naming.purged);
      for (const std::string& key : keys) LeaseNames(naming, key).add_all(command);
      command.number(age_us(free_for)).number(naming.prefix.size());
    };
    const Answer answer = checked(
        session_.ready(until).run(Lua::purge_keys, 4 + 4 * keys.size(), 2, add, until), session_.config());
    purged.keys += static_cast<std::uint64_t>(answer[0].number());
    purged.places += static_cast<std::uint64_t>(answer[1].number());
    if (keys.size() < keys_a_step) return;
    after = keys.back();
  }
}

// An entry's name begins with the millisecond in which it was made.
void RedisStoreAdmin::purge_log(Millis older_than, Purged& purged, Instant until) {
  Connection& connection = session_.ready(until);
  const Millis now = std::chrono::floor<Millis>(time_in(connection.call(until, "TIME")));
  if (older_than > now) return;
  const Answer trimmed = connection.call(until, "XTRIM", session_.config().naming.log, "MINID",
                                         std::to_string((now - older_than).count() + 1));
  purged.log += static_cast<std::uint64_t>(trimmed.number());
}

}  // namespace holdfast::redis
