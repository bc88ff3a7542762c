// SPDX-License-Identifier: Apache-2.0
// rows.h - rows for people and programs to read: who holds a key, who waits, what happened.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"

namespace holdfast {

// The fencing token.  Every grant has one, and it is larger than those of all earlier grants of the key.
// Compare tokens of one key only. 63 bits; zero is no token.
enum class Token : std::uint64_t {};
inline constexpr Token no_token{0};
constexpr std::uint64_t to_number(Token t) noexcept { return static_cast<std::uint64_t>(t); }

// Strong types: no two arguments of a lease operation can be swapped.
struct Key {
  std::string_view text;
};
struct OwnerView {
  std::string_view text;
};

// One row for people: who holds what.  Not for decisions.
struct LeaseRow {
  std::string key;
  std::string owner;   // who holds it, or held it last if it ran out; empty after a release
  Token token{};       // zero: a program that has no tokens holds it
  Millis remaining{};  // zero: free
  // The remaining time when the end of the lease was last set, by a grant or a renewal.  None: the key is
  // free, the lease has no end, or the store does not record it.
  std::optional<Millis> ttl{};
  std::optional<Moment> since{};  // when it was last granted; none: never, or unknown
  std::string note;
  bool detached = false;
  std::uint32_t waiting{};  // live places in its queue
};

struct PlaceRow {
  std::string key;
  std::string client;
  std::string owner;  // the owner that would hold the key: that of the client's last request
  Millis remaining{};
};

// An entry of the store's log.  The log has only take-overs and breaks, not every grant.
struct LogRow {
  Moment at{};
  std::string key;
  std::string event;  // "taken-over" (the old holder's lease had run out or its process was dead), "broken"
  std::string owner;  // who lost it
  Token token{};      // the token that was lost
  std::string by;     // who has it now, or who broke it
  std::string reason;
};

struct Query {
  enum class What : std::uint8_t { leases, places, log };
  What what = What::leases;
  std::string_view prefix{};  // only keys that begin with it; empty: all
  bool exact = false;         // `prefix` is the whole key
  std::string_view after{};   // leases: only keys after this one, for the next page
  bool free = true;           // leases: also keys that are free and that nobody waits for
  std::size_t limit = 1000;   // a page with fewer rows is the last one
};

struct Page {
  std::vector<LeaseRow> leases;
  std::vector<PlaceRow> places;  // first in the queue first
  std::vector<LogRow> log;       // newest first
};

// What a purge deletes.
struct Purge {
  Millis free_for = std::chrono::hours(24);  // keys that nobody has held or waited for during this time
  Millis log_older_than = never;             // entries of the log that are older
};
struct Purged {
  std::uint64_t keys = 0;
  std::uint64_t places = 0;  // places that had expired
  std::uint64_t log = 0;
};

// How serious a finding is.
enum class Weight : std::uint8_t {
  note,     // good to know
  warning,  // after a fault (a crash, a failover) the promises of a lease may not hold
  danger,   // even in normal operation the promises of a lease may not hold
};

HOLDFAST_API const char* to_string(Weight weight) noexcept;

// A fact about a store, or about the connection to it, that a user of its leases should know.
struct Finding {
  Weight weight{};
  std::string topic;      // "redis.eviction": the row of the page docs/stores/redis.md
  std::string what;       // what was found, and what it can lead to
  std::string advice;     // what to change; empty: nothing
  bool at_open = false;   // reported to every client that opens the store
  bool accepted = false;  // the user accepted it by its topic: `accept=redis.eviction` in a URL
};

// What a client needs to know about its store.  Cheap: every client reads it.
struct Traits {
  std::string name;     // "sqlite"
  Millis resolution{};  // of its expiry clock; goes into the margin
  bool push = false;    // it can notify
  bool fair = true;     // waiters are served in order
  bool tidies = false;  // clients do not purge: the store does it itself, or other programs need the rows
  char grade = 'B';     // A consensus, B durable, C best effort, D unsafe
  std::vector<Finding> findings = {};
};

// The result of a thorough check: the findings of Traits, and those that take longer to find.
struct Diagnosis {
  std::string server;  // what it is, for people: "PostgreSQL 15.18", "SQLite 3.40.1"
  char grade = 'B';    // as in Traits
  std::vector<Finding> findings = {};
};

}  // namespace holdfast
