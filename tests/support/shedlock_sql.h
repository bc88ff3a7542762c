// SPDX-License-Identifier: Apache-2.0
// shedlock_sql.h - the statements that ShedLock's JDBC provider sends.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "tests/support/shedlock.h"

namespace holdfast::test {

enum class ShedLockOn : std::uint8_t { postgres, mysql };

// A JVM.  By default it counts by the database's clock (usingDbTime), else by its own, which may be ahead.
class Jvm {
 public:
  // Runs a statement and returns how many rows it found or changed; -1: another row has that name.
  using Run = std::function<int(const std::string& sql)>;

  Jvm(Run run, ShedLockOn on, std::string host, std::optional<Millis> ahead = std::nullopt)
      : run_(std::move(run)), on_(on), host_(std::move(host)), ahead_(ahead) {}

  // Inserts a row once, then only updates it.
  bool lock(const std::string& name, Millis at_most = std::chrono::minutes(10)) {
    if (known_.insert(name).second && run_(insert(name, at_most)) > 0) return true;
    return run_("UPDATE shedlock SET lock_until = " + after(at_most) + ", locked_at = " + now() +
                ", locked_by = '" + host_ + "' WHERE shedlock.name = '" + name +
                "' AND shedlock.lock_until <= " + now()) > 0;
  }
  bool extend(const std::string& name, Millis at_most = std::chrono::minutes(10)) {
    return run_("UPDATE shedlock SET lock_until = " + after(at_most) + " WHERE name = '" + name +
                "' AND locked_by = '" + host_ + "' AND lock_until > " + now()) > 0;
  }
  // By its own clock it does not look whose the lock is, and has remembered when it locked it.
  bool unlock(const std::string& name, Millis at_least = Millis::zero()) {
    if (ahead_) {
      return run_("UPDATE shedlock SET lock_until = " + after(at_least) + " WHERE name = '" + name + "'") > 0;
    }
    const std::string least = plus("locked_at", at_least);
    return run_("UPDATE shedlock SET lock_until = CASE WHEN " + least + " > " + now() + " THEN " + least +
                " ELSE " + now() + " END WHERE name = '" + name + "' AND locked_by = '" + host_ + "'") > 0;
  }

 private:
  std::string insert(const std::string& name, Millis at_most) const {
    const std::string values = " INTO shedlock(name, lock_until, locked_at, locked_by) VALUES('" + name +
                               "', " + after(at_most) + ", " + now() + ", '" + host_ + "')";
    if (on_ == ShedLockOn::mysql) return (ahead_ ? "INSERT" : "INSERT IGNORE") + values;
    return "INSERT" + values + " ON CONFLICT (name) DO UPDATE SET lock_until = " + after(at_most) +
           ", locked_at = " + now() + ", locked_by = '" + host_ + "' WHERE shedlock.name = '" + name +
           "' AND shedlock.lock_until <= " + now();
  }
  std::string now() const {
    if (ahead_) return after(Millis::zero());
    return on_ == ShedLockOn::mysql ? "UTC_TIMESTAMP(3)" : "timezone('utc', CURRENT_TIMESTAMP)";
  }
  std::string after(Millis length) const {
    if (!ahead_) return plus(now(), length);
    const auto moment = std::chrono::floor<Millis>(wall_now().time_since_epoch()) + *ahead_ + length;
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(moment).count();
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    char text[32];
    const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S.", &utc);
    return "'" + std::string(text, size) + std::to_string(1000 + moment.count() % 1000).substr(1) + "'";
  }
  std::string plus(const std::string& moment, Millis length) const {
    if (on_ == ShedLockOn::mysql)
      return "TIMESTAMPADD(MICROSECOND, " + std::to_string(Micros(length).count()) + ", " + moment + ")";
    return moment + " + make_interval(secs => " + std::to_string(length.count()) + " / 1000.0)";
  }

  const Run run_;
  const ShedLockOn on_;
  const std::string host_;
  const std::optional<Millis> ahead_;
  std::set<std::string> known_;
};

// What a World of a database with SQL does to the rows of ShedLock's table.  World: `std::string value(sql)`,
// and `std::string utc()`, which is the server's time in SQL.
template <class World>
class ShedLockTable {
 public:
  static constexpr bool unlock_looks = true;  // whose the lock is, with usingDbTime()

  int free_rows() {
    return std::stoi(ask("SELECT COUNT(*) FROM shedlock WHERE lock_until <= " + World::utc()));
  }
  void end_now() { ask("UPDATE shedlock SET lock_until = " + World::utc()); }
  void end_at_start() { ask("UPDATE shedlock SET lock_until = locked_at"); }

 private:
  std::string ask(const std::string& sql) { return static_cast<World&>(*this).value(sql); }
};

}  // namespace holdfast::test
