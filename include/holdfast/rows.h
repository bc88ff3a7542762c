// SPDX-License-Identifier: Apache-2.0
// rows.h - what a store shows to people: leases, waiters, the log, findings.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

// One key and its holder, for people.  Not for decisions.
struct LeaseRow {
  std::string key;
  std::string owner;   // the holder, or the last one if the lease expired; empty after a release
  Token token{};       // none: held by another program, which writes no tokens
  Millis remaining{};  // zero: free.  At most a hundred years; == never: the lease has no end
  // Time left when the end was last set.  None: free, endless, or not recorded.
  std::optional<Millis> ttl{};
  std::optional<Moment> since{};  // when it was last granted; none: never, or unknown
  std::string note;
  bool detached = false;
  std::uint32_t waiting{};  // live places in its queue
};

struct PlaceRow {
  std::string key;
  std::string client;
  std::string owner;  // of the client's last request
  Millis remaining{};
};

// One line of the log.  It does not contain every grant, only take-overs and breaks.
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
  std::string_view prefix{};  // keys that start with it; empty: all
  bool exact = false;         // `prefix` is the whole key
  std::string_view after{};   // leases: keys after this one, for the next page
  bool free = true;           // leases: also keys that are released and have no waiters
  std::size_t limit = 1000;   // a page with fewer rows is the last one
};

struct Page {
  std::vector<LeaseRow> leases;
  std::vector<PlaceRow> places;  // first in the queue first
  std::vector<LogRow> log;       // newest first
};

// What a purge deletes.
struct Purge {
  DurationOr<Never> free_for = std::chrono::hours(24);  // keys without a holder and waiters for this long
  DurationOr<Never> log_older_than = never;             // lines of the log that are older
};
struct Purged {
  std::uint64_t keys = 0;
  std::uint64_t places = 0;  // those that had expired
  std::uint64_t log = 0;
};

// The severity of a finding.
enum class Severity : std::uint8_t {
  note,     // good to know
  warning,  // leases can break after another failure (a crash, a fail-over)
  danger,   // leases can break in ordinary operation
};

HOLDFAST_API const char* to_string(Severity severity) noexcept;

// The class of a store: how far its leases can be trusted.
enum class Grade : std::uint8_t {
  A,  // consensus: a majority of servers keeps each lease
  B,  // durable: a crash of the server loses no lease
  C,  // best effort: a crash or a fail-over may lose a lease
  D,  // unsafe: leases can break in ordinary operation
};

HOLDFAST_API const char* to_string(Grade grade) noexcept;  // "A"

struct Finding;
// `best` is the class of a store without findings.  A warning makes it C or worse, a danger D.
HOLDFAST_API Grade grade_of(Grade best, std::span<const Finding> findings) noexcept;

// A property of a store, or of the connection to it, that users of its leases should know.
struct Finding {
  Severity severity{};
  std::string topic;      // STORE.WHAT: a row of the page docs/stores/STORE.md
  std::string what;       // the fact and its consequence
  std::string advice;     // what to change; empty: nothing
  bool at_open = false;   // reported to every client that opens the store
  bool accepted = false;  // the user accepts it, by its topic: `accept=STORE.WHAT` in a URL
  bool blocks = false;    // no lease is granted until it is fixed
};

// The properties of a store that clients need.  Every client reads them when it opens the store.
struct Traits {
  std::string name;     // a scheme of its URLs
  Millis resolution{};  // of its expiry clock; goes into the margin
  bool push = false;    // it can notify
  bool fair = true;     // waiters are served in order
  bool tidies = false;  // clients need not purge: the store does so, or other programs rely on the rows
  Grade grade = Grade::B;
  std::vector<Finding> findings = {};
};

// The result of a thorough check: the findings of Traits, and those that take longer to find.
struct Diagnosis {
  std::string server;  // name and version, for people
  Grade grade = Grade::B;
  std::vector<Finding> findings = {};
};

}  // namespace holdfast
