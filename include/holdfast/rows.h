// SPDX-License-Identifier: Apache-2.0
// rows.h - what a store tells people: who holds what, who waits, what happened.
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

// The fencing token: comes with every grant and rises with every grant of a key, for ever.  Comparable
// only within one key.  63 bits; zero is no token.
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
  std::string owner;            // whoever has it, or had it last if it ran out; empty after a release
  Token token{};                // none: another program, which gives none, holds it
  Millis remaining{};           // zero: free
  std::optional<Millis> ttl{};  // what remained when its end was last set, by a grant or a renewal; none: the
                                // key is free, the lease has no end, or the store does not record it
  std::optional<Moment> since{};  // when it was last granted; none: never, or unknown
  std::string note;
  bool detached = false;
  std::uint32_t waiting{};  // live places in its queue
};

struct PlaceRow {
  std::string key;
  std::string client;
  std::string owner;  // who would hold it: whoever of that client asked last
  Millis remaining{};
};

// What the store writes down: not every grant, only what somebody may ask about later.
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
  std::string_view prefix{};  // keys that start so; empty: all
  bool exact = false;         // `prefix` is the whole key
  std::string_view after{};   // leases: keys behind this one, for the next page
  bool free = true;           // leases: also keys that were given back and that nobody waits for
  std::size_t limit = 1000;   // a page with fewer rows is the last one
};

struct Page {
  std::vector<LeaseRow> leases;
  std::vector<PlaceRow> places;  // first in the queue first
  std::vector<LogRow> log;       // newest first
};

// What a purge takes away.
struct Purge {
  Millis free_for = std::chrono::hours(24);  // keys that nobody has held or waited for since so long
  Millis log_older_than = never;             // what was written down longer ago
};
struct Purged {
  std::uint64_t keys = 0;
  std::uint64_t places = 0;  // those that had run out
  std::uint64_t log = 0;
};

// How much it matters.
enum class Weight : std::uint8_t {
  note,     // good to know
  warning,  // a second misfortune (a crash, a fail-over) can cost what a lease promises
  danger,   // so can an ordinary day
};

HOLDFAST_API const char* to_string(Weight weight) noexcept;

// Something about a store, or about the way to it, that whoever relies on its leases should know.
struct Finding {
  Weight weight{};
  std::string topic;      // "redis.eviction": the row of the page docs/stores/redis.md
  std::string what;       // what is so, and what can come of it
  std::string advice;     // what to change; empty: nothing
  bool at_open = false;   // reported to every client that opens the store
  bool accepted = false;  // the user has said so, by its topic: `accept=redis.eviction` in a URL
};

// What a store says about itself, for the client.  Cheap: every client asks.
struct Traits {
  std::string name;     // "sqlite"
  Millis resolution{};  // of its expiry clock; goes into the margin
  bool push = false;    // it can notify
  bool fair = true;     // waiters are served in order
  bool tidies = false;  // nobody need purge: it does so by itself, or others count on what is there
  char grade = 'B';     // A consensus, B durable, C best effort, D refuse
  std::vector<Finding> findings = {};
};

// What a thorough look has found: those findings, and what costs more to find out.
struct Diagnosis {
  std::string server;  // what it is, for people: "PostgreSQL 15.18", "SQLite 3.40.1"
  char grade = 'B';    // as in Traits
  std::vector<Finding> findings = {};
};

}  // namespace holdfast
