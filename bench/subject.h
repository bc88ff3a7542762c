// SPDX-License-Identifier: Apache-2.0
// subject.h - a store that is measured, and what one would do by hand on its driver.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/report.h"
#include "holdfast/clock.h"

namespace holdfast::bench {

// Leases by hand, on a connection of its own.  Used by one thread.
class ByHand {
 public:
  virtual ~ByHand() = default;
  virtual void acquire_and_release(const std::string& key, const std::string& owner) = 0;
  // First all are acquired, then all released, each in one trip or as near to that as the driver comes.
  virtual void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) = 0;
  // Whether somebody has it; what those ask who poll.
  virtual bool is_held(const std::string& key) = 0;
  // The least that can be asked.
  virtual void ask() = 0;
};

// The keys of a lock table, on a connection of its own.  Used by one thread.
class KeysByHand {
 public:
  static constexpr const char* seed = "seed";
  virtual ~KeysByHand() = default;
  // So many more keys that are free, with the names free-0000001 and so on, by whatever is fastest there.
  // REQUIRES: the key `seed` is free; they become like it.
  virtual void copy_seed(std::uint64_t count) = 0;
  // By a plain query: the first so many keys with what is kept of them, of all and of those that are held.
  // How many they were.
  virtual std::size_t read_all(std::size_t limit) = 0;
  virtual std::size_t read_held(std::size_t limit) = 0;
};

// A word from one process to another and back.  Made before the fork; each of the two joins it in its own.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual void join(int me) = 0;  // 0 or 1
  virtual void send() = 0;
  virtual void receive() = 0;
};

// Something else that a pair is compared with.
struct Rival {
  std::string name;
  Role role;
  std::function<double(double seconds)> rate;  // pairs per second
};

// How a chart and a table call things.
struct Naming {
  std::string store;     // "SQLite 3.40.1"
  std::string by_hand;   // one after the other
  std::string batch;     // 64 by hand
  std::string question;  // ByHand::ask; empty: not worth a figure
  std::string wire;      // Wire
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual const Naming& naming() const = 0;
  virtual std::string url() const = 0;  // of a store that is ready
  virtual std::unique_ptr<ByHand> by_hand() = 0;
  // As durable as jobs are kept there.
  virtual std::unique_ptr<ByHand> by_hand_durably() { return by_hand(); }
  virtual std::unique_ptr<Wire> wire() = 0;
  virtual std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) = 0;
  // They live as long as the subject.  Says on `notes` which it cannot have here, and why.
  virtual std::vector<Rival> rivals(std::vector<std::string>& notes) = 0;
  // What the server says it has been asked since it started, without this question; none: there is no server.
  virtual std::optional<double> served() { return std::nullopt; }
  // How far that number may lag behind.
  virtual Millis lag() const { return {}; }
  // Copies the jobs that are queued beside that lock table until there are so many, by whatever is fastest
  // there.  False: nothing is faster than to enqueue them.  REQUIRES: some are queued, and none has a slot.
  virtual bool copy_jobs(const std::string& /*locks*/, std::uint64_t /*count*/) { return false; }
  // How many wait for one key at once.
  virtual int crowd() const { return 100; }
};

// A kind of store, whether or not it can be measured here.
struct SubjectKind {
  std::string name;                      // "sqlite"
  std::function<std::string()> missing;  // what would have to be there; empty: nothing
  std::function<std::unique_ptr<Subject>()> make;
};
SubjectKind sqlite_subject();
SubjectKind postgres_subject();
SubjectKind redis_subject();
SubjectKind mongodb_subject();
SubjectKind mariadb_subject();

// Makes each when it is first wanted, and its server with it.
class Subjects {
 public:
  Subjects();
  // Why it cannot be measured; empty: it can.
  std::string missing(std::string_view store) const;
  Subject& of(std::string_view store);

 private:
  struct Entry {
    SubjectKind kind;
    std::unique_ptr<Subject> made;
  };
  std::vector<Entry> entries_;
};

// What a store needs before leases can be kept in it.
void make_ready(const std::string& url);

}  // namespace holdfast::bench
