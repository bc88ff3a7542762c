// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/job_rows.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "base/time.h"
#include "core/job_rule.h"
#include "core/row.h"
#include "rows/row_store.h"

namespace holdfast::postgres {
namespace {

using core::length_of;

// Timestamps begin and end there.
constexpr Micros year_one{-62'135'596'800'000'000};
constexpr Micros year_100_000{3'093'527'980'800'000'000};

// By the name that to_string() has for it.
template <class Enum>
Enum named(std::string_view name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  return {};
}

JobState state_named(std::string_view name) { return named<JobState>(name, static_cast<int>(job_states)); }

}  // namespace

void put_new_job(Parameters& p, const NewJob& job, Millis patience) {
  p.clear();
  p.text(job.name).text(job.queue).text(job.args).number(job.priority);
  job.at ? p.number(std::clamp(job.at->time_since_epoch(), year_one, year_100_000).count()) : p.nothing();
  p.number(length_of(std::clamp(job.in, Millis::zero(), Millis(std::chrono::hours(24 * 365 * 300)))));
  p.number(job.max_attempts).text(job.key).number(length_of(job.lock_ttl)).flag(job.lock_fixed);
  p.number(job.limit).text(to_string(job.on_conflict)).text(to_string(job.unique));
  job.tick_name.empty() ? p.nothing() : p.text(job.tick_name);
  p.number(job.tick);
  job.window > Millis::zero() ? p.number(length_of(job.window)) : p.nothing();
  p.number(patience.count());
}

std::optional<EnqueueReply> EnqueueTalk::hear(const Answer& a) {
  enum : int { verdict, id, state, since_us, owner, now_us };
  const auto job = JobId{static_cast<std::uint64_t>(a.number(0, id))};
  EnqueueReply reply{.id = job,
                     .state = state_named(a.text(0, state)),
                     .since = moment_or_none(Micros(a.number(0, since_us))),
                     .now = Moment(Micros(a.number(0, now_us)))};
  const char said = a.letter(0, verdict);
  if (said == 'l')
    return EnqueueReply{
        .what = EnqueueReply::What::locked, .owner = std::string(a.text(0, owner)), .now = reply.now};
  if (said == 't') return std::nullopt;
  reply.what = said == 'e'   ? EnqueueReply::What::enqueued
               : said == 'r' ? EnqueueReply::What::replaced
                             : EnqueueReply::What::duplicate;
  // One that is too young for our snapshot is seen the next time.
  const bool unseen = said == 'p' && job != no_job && job != unseen_;
  if (unseen) unseen_ = job;
  return unseen ? std::nullopt : std::optional(reply);
}

JobRow job_in(const Answer& a, int row, int first) {
  int column = first;
  const auto text = [&] { return std::string(a.text(row, column++)); };
  const auto number = [&] { return a.number(row, column++); };
  const auto count = [&] { return static_cast<int>(a.number(row, column++)); };
  const auto micros = [&] { return Micros(a.number(row, column++)); };
  const auto moment = [&] { return Moment(micros()); };
  const auto flag = [&] { return a.flag(row, column++); };
  JobRow job;
  job.id = JobId{static_cast<std::uint64_t>(number())};
  job.name = text();
  job.queue = text();
  job.args = text();
  job.key = text();
  job.priority = count();
  job.state = state_named(text());
  job.enqueued_at = moment();
  job.run_at = moment();
  job.due_at = moment();
  job.started_at = moment_or_none(micros());
  job.finished_at = moment_or_none(micros());
  job.attempt = count();
  job.crashes = count();
  job.max_attempts = count();
  job.lock_ttl =
      a.is_null(row, column) ? Millis(never) : std::chrono::ceil<Millis>(Micros(a.number(row, column)));
  ++column;
  job.lock_fixed = flag();
  job.limit = count();
  job.on_conflict = named<OnConflict>(text(), 4);
  job.unique = named<Unique>(text(), 4);
  job.slotted = flag();
  job.parked = flag();
  job.owner = text();
  job.lock = text();
  job.token = Token{static_cast<std::uint64_t>(number())};
  job.claim_remaining = Millis(number());
  job.error = text();
  job.duplicates = static_cast<std::uint64_t>(number());
  job.trail = core::trail_of(text());
  return job;
}

Error contended(const std::string& where, const Trouble& trouble) {
  return {
      Errc::unavailable,
      where +
          ": timed out waiting for an open transaction that has locked the same rows; nothing was changed: " +
          trouble.text + " (" + trouble.state + ")"};
}

void require_fit(std::string_view text, std::size_t longest, const char* column, const std::string& table) {
  if (longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest) return;
  throw_failure({Errc::refused, "\"" + printable(text) + "\" is longer than the " + std::to_string(longest) +
                                    " letters that the column \"" + column + "\" of the table \"" + table +
                                    "\" allows; give a shorter one, or make the column wider"});
}

void require_key_fits(const NewJob& job, std::size_t longest, const std::string& table) {
  if (job.limit <= 0 || longest == 0) return;
  // The lock's name may have a number behind it: #1 … #N.
  const std::size_t number = job.limit > 1 ? 1 + std::to_string(job.limit).size() : 0;
  require_fit(job.key, longest - std::min(number, longest - 1), "key", table);
}

Millis patience_for(Instant until) {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return std::max(Millis(1), left - std::min(left / 4, Millis(200)));
}

}  // namespace holdfast::postgres
