// SPDX-License-Identifier: Apache-2.0
// job_rows.h - rows that describe jobs, for people and programs that read them.
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

// The number of a job: larger than that of all earlier jobs of the store.  Zero is no job.
enum class JobId : std::uint64_t {};
inline constexpr JobId no_job{0};
constexpr std::uint64_t to_number(JobId id) noexcept { return static_cast<std::uint64_t>(id); }

// How arguments become the key of a job's lock by default; see job_key() in job.h.
enum class JobKeyForm : std::uint8_t {
  exact,   // different arguments make different keys
  joined,  // as in active_job_lock: the arguments `a b` and `a-b` make the same key
};

enum class JobState : std::uint8_t {
  queued,   // waits for its time, for a worker, or for its lock
  running,  // a worker has claimed it
  done,     // over
  dead,     // it failed too often, or too many workers died while they ran it; a person retries or removes it
  dropped,  // its lock was held by somebody else when its turn came
  cancelled,  // somebody cancelled it
};
inline constexpr std::size_t job_states = 6;
HOLDFAST_API const char* to_string(JobState) noexcept;

// How long a job keeps its slot.  While it has the slot, no other job of its key is enqueued.
enum class Unique : std::uint8_t {
  no,             // it has no slot
  loner,          // from enqueue until it is done, dead, dropped or cancelled, through all retries
  until_start,    // from enqueue to the claim: one runs and one more may be queued, so no event is lost
  until_success,  // as loner, but a dead job keeps its slot until a person retries or removes it
};
HOLDFAST_API const char* to_string(Unique) noexcept;

// What happens to a job whose lock or slot is taken.
enum class OnConflict : std::uint8_t {
  drop,     // its lock is held when its turn comes: it is dropped, and the row says who held the lock
  wait,     // …: it stays queued until the lock is free; no thread is blocked
  raise,    // …: this attempt has failed; the job is retried as usual
  replace,  // a queued job has its slot: that job gets the new arguments and time.  Its lock is held: it
            // waits
};
HOLDFAST_API const char* to_string(OnConflict) noexcept;

// Everything that the store knows about a job.
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
  int attempt = 0;                      // attempts that were started and not handed back
  int crashes = 0;                      // of those, attempts whose worker died or disappeared
  int max_attempts = 1;
  Millis lock_ttl{};
  bool lock_fixed = false;
  int limit = 1;
  OnConflict on_conflict{};
  Unique unique{};
  bool slotted = false;    // it has its slot
  bool parked = false;     // queued: its lock was held, and it waits for it
  std::string owner = {};  // running: who has claimed it, and holds its lock.  Otherwise: who claimed it last
  std::string lock = {};   // the key of the lease it runs under; empty: none
  Token token{};           // of that lease
  Millis claim_remaining{};    // running: zero if the claim has run out
  std::string error = {};      // of the last failure; dropped: who held the lock
  std::uint64_t duplicates{};  // later enqueues that were refused because of this job
  // Its other events, one per line, "MICROS EVENT DETAIL": failed, crashed, handed-back, parked, retried,
  // cancelled, replaced.
  std::string trail = {};
};

struct JobQuery {
  JobId id{};               // only this job
  std::string_view key{};   // only jobs of this key
  std::string_view name{};  // only jobs of this name
  std::string_view queue{};
  std::optional<JobState> state = {};
  JobId before{};  // only jobs older than this one, for the next page
  std::size_t limit = 100;
};

// Which jobs a purge deletes.
struct JobPurge {
  Millis older_than = std::chrono::hours(24 * 7);  // done, dropped or cancelled jobs that ended longer ago
  std::size_t limit = 1000;                        // at most this many
};

}  // namespace holdfast
