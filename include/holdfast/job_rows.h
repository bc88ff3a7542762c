// SPDX-License-Identifier: Apache-2.0
// job_rows.h - what a store tells people about jobs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/rows.h"

namespace holdfast {

// Rises with every job of a store.  Zero is no job.
enum class JobId : std::uint64_t {};
inline constexpr JobId no_job{0};
constexpr std::uint64_t to_number(JobId id) noexcept { return static_cast<std::uint64_t>(id); }

// How arguments become the key of a job's lock, if nobody says otherwise; see job_key() in job.h.
enum class JobKeyForm : std::uint8_t {
  exact,   // other arguments make another key
  joined,  // as active_job_lock joins them: those of `a b` and of `a-b` make the same
};

enum class JobState : std::uint8_t {
  queued,     // it waits for its time, for a worker, or for its lock
  running,    // a worker has claimed it
  done,       // over
  dead,       // it failed too often, or took too many workers with it: an operator's to retry or remove
  dropped,    // its lock was held by somebody else when its turn came
  cancelled,  // by whoever asked for it
};
inline constexpr std::size_t job_states = 6;
HOLDFAST_API const char* to_string(JobState) noexcept;

// How long a job keeps its slot: meanwhile no other of its key is enqueued.
enum class Unique : std::uint8_t {
  no,             // it has none
  loner,          // from enqueue to done, dead, dropped or cancelled, through all retries: a loner
  until_start,    // from enqueue to the claim: one runs and one more may be queued, and no event is lost
  until_success,  // as loner, but one that is dead keeps it until an operator acts
};
HOLDFAST_API const char* to_string(Unique) noexcept;

// What happens to a job whose key is taken.
enum class OnConflict : std::uint8_t {
  drop,     // its lock is held when its turn comes: dropped, and who held it is written down
  wait,     // …: it stays queued until the lock is free; no thread waits with it
  raise,    // …: that is a failure, to be retried as often as the job may be
  replace,  // its slot is taken by one that is queued: that one gets the arguments and the time of the new
            // one. Its lock is held: it waits
};
HOLDFAST_API const char* to_string(OnConflict) noexcept;

// All that is known of a job.
struct JobRow {
  JobId id{};
  std::string name = {}, queue = {}, args = {}, key = {};
  int priority = 0;
  JobState state{};
  Moment enqueued_at{};                 // by the store's clock, as are all moments here
  Moment run_at{};                      // not before
  Moment due_at{};                      // queued: as run_at, or later if it waits for its lock
  std::optional<Moment> started_at{};   // of the last attempt; none: not started yet
  std::optional<Moment> finished_at{};  // done, dead, dropped, cancelled; none: not finished
  int attempt = 0;                      // so many have been started and not handed back
  int crashes = 0;                      // of those, whose worker was not heard of again
  int max_attempts = 1;
  Millis lock_ttl{};
  bool lock_fixed = false;
  int limit = 1;
  OnConflict on_conflict{};
  Unique unique{};
  bool slotted = false;      // it has its slot
  bool parked = false;       // queued: it has found its lock held, and waits for it
  std::string owner = {};    // running: who has claimed it; the same name holds its lock.  Else: who did last
  std::string lock = {};     // the key of the lease it runs under; empty: none
  Token token{};             // of that lease
  Millis claim_remaining{};  // running: zero if the claim has run out
  std::string error = {};    // of the last failure; dropped: who held the lock
  std::uint64_t duplicates{};  // enqueues that found its slot or its tick taken
  // What happened to it, besides being enqueued, started and finished: a line each, "MICROS EVENT DETAIL".
  // failed, crashed, handed-back, parked, retried, cancelled, replaced
  std::string trail = {};
};

struct JobQuery {
  JobId id{};               // that one
  std::string_view key{};   // those of this key
  std::string_view name{};  // those of this name
  std::string_view queue{};
  std::optional<JobState> state = {};
  JobId before{};  // older than this one, for the next page
  std::size_t limit = 100;
};

// What a purge of jobs takes away.
struct JobPurge {
  Millis older_than = std::chrono::hours(24 * 7);  // done, dropped, cancelled since so long
  std::size_t limit = 1000;                        // at most so many
};

}  // namespace holdfast
