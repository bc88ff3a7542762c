// SPDX-License-Identifier: Apache-2.0
// database.h - the executable specification: core/rule.h and a map.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/sync.h"
#include "core/rule.h"
#include "holdfast/memory.h"
#include "rows/row_engine.h"

namespace holdfast::memory {

// REQUIRES for all but mutex(): it is locked.
class Database {
 public:
  explicit Database(Clocks clocks) : clocks_(std::move(clocks)) {}

  Reply apply(const Request& request, const std::string& client);
  Page list(const Query& query);
  Purged purge(const Purge& what);
  // Calls `ring(client, key)` instead of notifying that client: for a simulator.
  void on_ring(std::function<void(const std::string&, const std::string&)> ring) { ring_ = std::move(ring); }
  void connect_listener(const std::string& client, int fd) { listeners_[client] = fd; }
  void disconnect_listener(const std::string& client) { listeners_.erase(client); }
  Micros now() const { return std::chrono::floor<Micros>(clocks_.expiry().time_since_epoch()); }
  Moment wall() const { return clocks_.wall(); }

  using Jobs = std::map<JobId, core::JobRecord>;
  using Ticks = std::map<std::string, rows::TickRecord, std::less<>>;
  Jobs& jobs() { return jobs_; }
  Ticks& ticks() { return ticks_; }
  JobId next_job() { return JobId{++last_job_}; }

  Mutex& mutex() { return mutex_; }

 private:
  void ring(const std::string& client, std::string_view key);

  const Clocks clocks_;
  Mutex mutex_;
  std::map<std::string, core::Record, std::less<>> records_;
  Token purged_{};  // no key that was taken away had a larger one
  std::vector<LogRow> log_;
  Jobs jobs_;
  Ticks ticks_;
  std::uint64_t last_job_ = 0;
  std::map<std::string, int> listeners_;
  std::function<void(const std::string&, const std::string&)> ring_;
};

}  // namespace holdfast::memory
