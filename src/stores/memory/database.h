// SPDX-License-Identifier: Apache-2.0
// database.h - the executable specification: what every store must answer, in the plainest words.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/memory.h"

namespace holdfast::memory {

struct Place {
  std::string client;
  std::string holder;
  Micros until;
};

struct Row {
  std::string holder;  // empty: released
  Token token{};
  Micros until{};  // of a free row: since when it is free
  Micros since{};
  std::string note;
  bool detached = false;
  std::deque<Place> queue;
};

// REQUIRES for all but mutex(): it is locked.
class Database {
 public:
  explicit Database(Clocks clocks) : clocks_(std::move(clocks)) {}

  Reply apply(const Request& request, const std::string& client);
  Page list(const Query& query);
  Purged purge(const Purge& what);
  void on_ring(std::function<void(const std::string&, const std::string&)> ring) { ring_ = std::move(ring); }
  void connect_bell(const std::string& client, int fd) { bells_[client] = fd; }
  void disconnect_bell(const std::string& client) { bells_.erase(client); }
  Micros now() const { return clocks_.expiry(); }
  std::mutex& mutex() { return mutex_; }

 private:
  Reply acquire(Row& row, const Request& request, const std::string& client, Micros now);
  Reply renew(Row& row, const Request& request, Micros now);
  Reply release(Row& row, const Request& request, const std::string& client, Micros now);
  Reply evict(Row& row, const Request& request, Micros now);
  Reply answer(const Row& row, Verdict verdict, Micros now) const;
  void log(const Row& row, const Request& request, const char* event);
  void ring_first(const Row& row, std::string_view key);

  static bool live(const Row& row, Micros now) { return !row.holder.empty() && now < row.until; }
  static bool matches(const Row& row, const Request& r, Micros now) {
    return live(row, now) && row.holder == r.holder.text && (r.token == no_token || r.token == row.token);
  }
  static void drop_dead_places(Row& row, Micros now) {
    std::erase_if(row.queue, [&](const Place& p) { return p.until <= now; });
  }
  static bool leave_queue(Row& row, const std::string& client) {
    return std::erase_if(row.queue, [&](const Place& p) { return p.client == client; }) != 0;
  }

  const Clocks clocks_;
  std::mutex mutex_;
  std::map<std::string, Row, std::less<>> rows_;
  Token purged_{};  // no key that was taken away had a larger one
  std::vector<LogRow> log_;
  std::map<std::string, int> bells_;
  std::function<void(const std::string&, const std::string&)> ring_;
};

}  // namespace holdfast::memory
