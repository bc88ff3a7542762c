// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/admin.h"

#include <system_error>

#include "stores/redis/diagnosis.h"
#include "stores/redis/fault.h"
#include "stores/redis/index.h"
#include "stores/redis/keys.h"
#include "stores/redis/script.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t purge_page = 200;

// In microseconds, without overflow; no lease is that old.
std::int64_t age_us(Millis length) {
  return length > std::chrono::hours(24 * 36525) ? -1 : std::chrono::duration_cast<Micros>(length).count();
}

}  // namespace

// That the server can be reached and lets us is all that there is to see.
Result<std::vector<std::string>> RedisStoreAdmin::plan(Instant until) {
  try {
    link_.ready(until);
    return std::vector<std::string>{};
  } catch (const Failure& failure) {
    return failure.error();
  } catch (const std::system_error& e) {
    return Error{Errc::unavailable, e.what()};
  }
}

Result<Purged> RedisStoreAdmin::purge(const Purge& what, Instant until) {
  Purged purged;
  try {
    purge_keys(what.free_for, purged, until);
    if (what.log_older_than != never) purge_log(what.log_older_than, purged, until);
  } catch (const Failure& failure) {
    return failure.error();
  } catch (const std::system_error& e) {
    return Error{Errc::unavailable, e.what()};
  }
  return purged;
}

Result<Diagnosis> RedisStoreAdmin::diagnose(Instant until) {
  try {
    return look_closely(link_.shared_config(), until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // nothing was to be changed
    return error;
  } catch (const std::system_error& e) {
    return Error{Errc::unavailable, e.what()};
  }
}

void RedisStoreAdmin::purge_keys(Millis free_for, Purged& purged, Instant until) {
  const Naming& naming = link_.config().naming;
  std::string after;
  while (true) {
    const auto keys = keys_of_index(link_, {naming.index(), "", after, purge_page}, until);
    if (keys.empty()) return;
    const auto add = [&](Command& command) {
      command.word(naming.kept()).word(naming.index()).word(naming.held()).word(naming.purged());
      for (const std::string& key : keys) LeaseNames(naming, key).add_all(command);
      command.number(age_us(free_for)).number(naming.prefix().size());
    };
    const Answer answer =
        run(link_.ready(until), link_.config(), Lua::purge_keys, 4 + 4 * keys.size(), 2, add, until);
    if (answer->is_error()) throw_failure(to_error(answer->text(), link_.config()));
    purged.keys += static_cast<std::uint64_t>((*answer)[0].number());
    purged.places += static_cast<std::uint64_t>((*answer)[1].number());
    if (keys.size() < purge_page) return;
    after = keys.back();
  }
}

// An entry's name begins with the millisecond in which it was made.
void RedisStoreAdmin::purge_log(Millis older_than, Purged& purged, Instant until) {
  Wire& wire = link_.ready(until);
  wire.command(1).word("TIME");
  wire.send(until);
  const Answer time = wire.receive(until);
  if (time->is_error()) throw_failure(to_error(time->text(), link_.config()));
  const Millis now = std::chrono::floor<Millis>(time_of(*time));
  if (older_than > now) return;
  wire.command(4)
      .word("XTRIM")
      .word(link_.config().naming.log())
      .word("MINID")
      .number((now - older_than).count() + 1);
  wire.send(until);
  const Answer trimmed = wire.receive(until);
  if (trimmed->is_error()) throw_failure(to_error(trimmed->text(), link_.config()));
  purged.log += static_cast<std::uint64_t>(trimmed->number());
}

}  // namespace holdfast::redis
