// SPDX-License-Identifier: Apache-2.0
// job_rule.h - what becomes of a job: the rules of holdfast/spi/job_engine.h as functions of one record.
//
// A database that only keeps rows reads them, asks here, and writes what was changed (rows/row_engine.h). One
// that decides on its server says the same in its language; tests/engines/job_table_test.cpp compares them,
// moment by moment.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/job_engine.h"

namespace holdfast::core {

// The store's clocks when it decides.
struct JobMoment {
  Micros now{};   // decides when a claim has run out
  Moment wall{};  // decides when a job is due
};

struct JobRecord {
  JobRow row = {};
  Micros claim_until{};    // on the clock of `now`; zero unless running
  std::string trail = {};  // row.trail as stores keep it: a line "MICROS EVENT DETAIL" for each event
  // A field with a value that Holdfast has not written, as somebody has changed it by hand; empty: none.
  std::string damaged = {};
};

// -- enqueueing

std::string slot_of(std::string_view key);
bool has_slot(Unique unique) noexcept;
// Whoever holds the lock stands in its way, job or not.
bool minds_owner(const NewJob& job) noexcept;

// A tick of a period is named by the moment it begins, in microseconds: a longer one does not come before it.
std::int64_t tick_of(std::int64_t tick, Millis period, Moment wall) noexcept;
// Zero: it is to be kept forever.
Micros tick_until(std::int64_t tick, Millis window) noexcept;

// Without an id.
JobRecord made_of(const NewJob& job, Moment wall);
// `there` has the slot.  Counts, and replaces it if that is wanted and it is queued.
EnqueueReply meet(JobRecord& there, const NewJob& job, Moment wall);
EnqueueReply duplicate_of(JobRecord& there, Moment wall);

// -- claiming

// Which of its leases: 1 to limit.
std::string lock_name(std::string_view key, int limit, int n);
Request lock_request(const JobRow& job, Key lock, const ClaimRequest& claim);
// Of a job whose claim ran out: gives back what its last attempt held.
Request give_back(const JobRow& job);

// A job that was started once is never dropped for its lock: it waits.
OnConflict conflict_of(const JobRow& job) noexcept;

// Its last worker was not heard of again: counts the crash.  True: it was one too many, and the job is dead.
bool crashed(JobRecord& job, int max_crashes, const JobMoment& moment);
// No worker can run a damaged job, and it must not stop its queue: it is dead, and its error names
// the field.  What it held has been given back.
void end_damaged(JobRecord& job, const JobMoment& moment);
// It runs, under `lock` unless that is empty.
void start(JobRecord& job, const ClaimRequest& claim, Key lock, Token token, const JobMoment& moment);
void drop(JobRecord& job, std::string_view blocker, const JobMoment& moment);
// It waits for its lock: so long, or until it is freed.  `first` of those that wait looks often, so that a
// lease which is no job's is seen to end; the others count on it.
void park(JobRecord& job, Millis lock_remaining, bool first, const JobMoment& moment);
// The lock may be free: it is due.
void unpark(JobRecord& job);
// The first of those that wait has been started: this one looks in its place.  False: it does already.
bool make_scout(JobRecord& job, Moment wall);
// The order in which jobs are claimed.
bool before(const JobRow& a, const JobRow& b) noexcept;

// -- and then

bool is_claim_of(const JobRecord& job, const ClaimRef& claim) noexcept;

// False: it is not this holder's.
bool finish(JobRecord& job, const Finish& how, const JobMoment& moment);
// cancel, retry or remove.
const char* verb_of(JobChange what) noexcept;
// Not for JobChange::remove, which only asks whether it may be.
Status change(JobRecord& job, JobChange what, std::string_view by, const JobMoment& moment);

// The row as people are told it.
JobRow seen(JobRecord job, Micros now);
// The events of a stored trail.  A line that is not one is left out.
std::vector<TrailEntry> trail_of(std::string_view text);

Error no_such_job(JobId id);
Error slot_is_taken(JobId id, JobId by);
// Of a claim that was not renewed because another transaction has locked its job.  `store`: its name.
Error job_is_locked(std::string_view store);

// The claims of a renewal that found their jobs locked, and wait for them now: renew(i, waiting) for one
// after the other.  So many are `waiting`, this one included: they share the time that is left.
template <class Renew>
void each_waiting_claim(std::span<const ClaimRef> claims, std::span<const ClaimReply> replies,
                        const Renew& renew) {
  const auto waits = [&](std::size_t i) { return claims[i].wait_if_locked && replies[i].error; };
  std::int64_t waiting = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) waiting += waits(i) ? 1 : 0;
  for (std::size_t i = 0; waiting > 0; ++i) {
    if (waits(i)) renew(i, waiting--);
  }
}

// At the end of the trail; the oldest lines go when it gets too long.
void note(JobRecord& job, Moment wall, std::string_view event, std::string_view detail);

// No length of time is longer: a database's own would overflow.
inline constexpr Millis a_century = std::chrono::hours(24 * 36525);
inline constexpr Millis longest_idle = std::chrono::minutes(1);
inline constexpr Millis scout_pause = std::chrono::seconds(1);
inline constexpr Millis parked_pause = std::chrono::minutes(1);
inline constexpr std::size_t longest_trail = 8000;
// One claim sets at most so many jobs aside that wait for their lock.
inline constexpr int parked_per_claim = 100;
// So many jobs of a key may run at once, each under a lease of its own.  The SQL and the Lua have it too.
inline constexpr int largest_limit = 1000;

}  // namespace holdfast::core
