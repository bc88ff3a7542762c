// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/admin.h"

#include "stores/redis/fault.h"
#include "stores/redis/store_connection.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t purge_page = 200;

// In microseconds, without overflow; no lease is that old.
std::int64_t age_us(Millis length) {
  return length > std::chrono::hours(24 * 36525) ? -1 : std::chrono::duration_cast<Micros>(length).count();
}

}  // namespace

// There is nothing to create: only checks that the server can be reached and can be used.
Result<std::vector<std::string>> RedisStoreAdmin::plan(Instant until) {
  return guarded([&]() -> Result<std::vector<std::string>> {
    session_.ready(until);
    return std::vector<std::string>{};
  });
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
    const auto keys = read_index(session_, {naming.index, "", after, purge_page}, until);
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
    if (keys.size() < purge_page) return;
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
