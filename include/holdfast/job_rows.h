// SPDX-License-Identifier: Apache-2.0
// job_rows.h - what a store shows to people about jobs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/rows.h"

namespace holdfast {

// The number of a job: larger than that of all earlier jobs of the store.  Zero is no job.
enum class JobId : std::uint64_t {};
inline constexpr JobId no_job{0};
constexpr std::uint64_t to_number(JobId id) noexcept { return static_cast<std::uint64_t>(id); }

// How arguments become the key of a job's lock, if the job has no lock_key; see job_key() in job.h.
enum class JobKeyForm : std::uint8_t {
  exact,   // different arguments make different keys
  joined,  // joined as by active_job_lock: `a b` and `a-b` make the same key
};

enum class JobState : std::uint8_t {
  queued,   // it waits for its time, for a worker, or for its lock
  running,  // a worker has claimed it
  done,     // it succeeded
  dead,  // it failed too often, or too many workers died while they ran it; an operator may retry or remove
         // it
  dropped,    // its lock was held when its turn came
  cancelled,  // by an operator or a program
};
inline constexpr std::size_t job_states = 6;
HOLDFAST_API const char* to_string(JobState) noexcept;

// How long a job keeps its slot.  Meanwhile no other job of its key is enqueued.
enum class Unique : std::uint8_t {
  no,             // it has no slot
  loner,          // from enqueue to done, dead, dropped or cancelled, through all retries
  until_start,    // from enqueue to the claim: one job runs and one more may be queued, so no event is lost
  until_success,  // like loner, but a dead job keeps it until an operator acts
};
HOLDFAST_API const char* to_string(Unique) noexcept;

// What happens to a job whose lock or slot is taken.
enum class OnConflict : std::uint8_t {
  drop,     // lock held: the job is dropped, and its row names the holder
  wait,     // lock held: the job stays queued until the lock is free; no thread waits for it
  raise,    // lock held: the attempt has failed, and is retried like other failures
  replace,  // slot taken by a queued job: that job gets the arguments and the time of the new one.
            // Lock held: it waits
};
HOLDFAST_API const char* to_string(OnConflict) noexcept;

// An event of a job's history.
struct TrailEntry {
  Moment at{};
  std::string event = {};  // failed, crashed, handed-back, parked, retried, cancelled, replaced
  std::string detail =
      {};  // the error; crashed: the owner that stopped renewing; retried, cancelled: by whom
};

// A job.
struct JobRow {
  JobId id{};
  std::string name = {}, queue = {}, args = {}, key = {};
  int priority = 0;
  JobState state{};
  Moment enqueued_at{};                 // by the store's clock, like all moments here
  Moment run_at{};                      // the earliest start
  Moment due_at{};                      // queued: run_at, or later if it waits for its lock
  std::optional<Moment> started_at{};   // of the last attempt; none: not started yet
  std::optional<Moment> finished_at{};  // done, dead, dropped, cancelled; none: not finished
  int attempt = 0;                      // attempts that were started and not handed back
  int crashes = 0;                      // attempts whose worker died
  int max_attempts = 1;
  Millis lock_ttl{};
  bool lock_fixed = false;
  int limit = 1;
  OnConflict on_conflict{};
  Unique unique{};
  bool slotted = false;        // it has its slot
  bool parked = false;         // queued: its lock was held, and it waits for it
  std::string owner = {};      // of its last claim; the same name holds its lock
  std::string lock = {};       // the key of the lease it runs under; empty: none
  Token token{};               // of that lease
  Millis claim_remaining{};    // running: zero if the claim has expired
  std::string error = {};      // of the last failure; dropped: who held the lock
  std::uint64_t duplicates{};  // enqueues that found its slot or its tick taken
  std::vector<TrailEntry> trail =
      {};  // its history besides enqueue, start and finish, the oldest event first
};

// The keys of the leases that a job of this key runs under, one at a time: KEY, or KEY#1 to KEY#LIMIT if so
// many may run at once, at most 1000.  None if the limit is zero: it has no lock.
HOLDFAST_API std::vector<std::string> lock_keys(std::string_view key, int limit);

struct JobQuery {
  JobId id{};               // only this job
  std::string_view key{};   // only jobs of this key
  std::string_view name{};  // only jobs of this name
  std::string_view queue{};
  std::optional<JobState> state = {};
  JobId before{};  // only jobs older than this one, for the next page
  std::size_t limit = 100;
};

// What a purge of jobs deletes.
struct JobPurge {
  Millis older_than = std::chrono::hours(24 * 7);  // jobs that were done, dropped or cancelled longer ago
  std::size_t limit = 1000;                        // at most so many
};

// One tick of a name, for work that is due once in a while.  The first to take it does the work.
struct Tick {
  std::string_view name;
  std::int64_t tick = 0;  // ignored if there is a period
  Millis period{};        // the tick is the moment the period began, in microseconds
  std::string_view by{};  // who takes it, for people
};
struct TickRow {
  bool taken = false;          // take_tick: the caller has taken it
  std::int64_t tick{};         // take_tick: the requested one; tick: the last one that was taken; -1: none
  std::string by = {};         // who took the last one
  std::optional<Moment> at{};  // when; none: never
  std::optional<Moment> success{};  // when note_success was last called; none: never
  Moment now{};                     // the store's wall clock
};

}  // namespace holdfast
