// SPDX-License-Identifier: Apache-2.0
// How a step is one transaction, and takes its lease by the rule of every other.
#include "stores/mariadb/engine.h"

#include <algorithm>
#include <utility>

#include "core/row.h"
#include "core/rule.h"
#include "stores/mariadb/job_words.h"
#include "stores/mariadb/kept.h"
#include "stores/mariadb/sql/begin.sql.h"
#include "stores/mariadb/sql/job_aside.sql.h"
#include "stores/mariadb/sql/job_expired.sql.h"
#include "stores/mariadb/sql/job_parked.sql.h"
#include "stores/mariadb/sql/job_ready.sql.h"
#include "stores/mariadb/sql/job_tick.sql.h"
#include "stores/mariadb/sql/job_times.sql.h"
#include "stores/mariadb/sql/read.sql.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

using namespace std::chrono_literals;

constexpr Millis soon = 100ms;
// A claim that has found so many of its jobs' locks held has to come to an end.
constexpr int most_parts = 20;

std::string of_jobs(const Tables& tables, std::string_view sql) {
  return tables.expand(with(sql, {{"columns", std::string(job_columns)}}));
}

void require_time(Instant until) {
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
}

}  // namespace

MariaEngine::MariaEngine(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)),
      begin_(config_->tables.expand(begin_sql)),
      read_(config_->tables.expand(read_sql)),
      jobs_(of_jobs(config_->tables, "SELECT {columns} FROM {jobs} WHERE ")),
      ready_(of_jobs(config_->tables, job_ready_sql)),
      aside_(of_jobs(config_->tables, job_aside_sql)),
      expired_(of_jobs(config_->tables, job_expired_sql)),
      times_(of_jobs(config_->tables, job_times_sql)),
      parked_(of_jobs(config_->tables, job_parked_sql)),
      tick_(of_jobs(config_->tables, job_tick_sql)) {
  connect(until);
}

void MariaEngine::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*config_, until);
  ServerProbe probe = probe_server(*connection, *config_, until);
  require_complete(probe, *config_);
  require_jobs(probe, *config_);
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
}

// -- transactions

void MariaEngine::transact(Access access, Instant until, const std::function<void()>& work) {
  require_time(until);
  try {
    if (connection_->ended()) connect(until);
  } catch (const Failure& failure) {
    throw_failure(undone(failure.error()));  // nothing of the caller's was sent yet
  }
  stuck_.clear();
  parts_ = 0;
  while (true) {
    begin(access, until);
    try {
      if (attempt(work)) return;
    } catch (const Overtaken& overtaken) {
      roll_back();
      if (BootClock::now() >= until || connection_->ended())
        throw_failure(undone(statement_error(overtaken.trouble, config_->name)));
    } catch (...) {
      roll_back();
      throw;
    }
  }
}

bool MariaEngine::attempt(const std::function<void()>& work) {
  bool whole = true;
  try {
    work();
  } catch (const SoFar&) {
    whole = false;
    ++parts_;
  }
  commit();
  return whole;
}

void MariaEngine::begin(Access access, Instant until) {
  access_ = access;
  until_ = until;
  pending_ = access == Access::write ? begin_ : "";
  wrote_ = false;
  moment_.reset();
  read_records_.clear();
  look_.reset();
  set_aside_ = false;
  busy_.clear();
  first_.clear();
}

void MariaEngine::commit() {
  if (access_ == Access::read) return;
  if (!wrote_) {
    ask(undo, 0);
    return;
  }
  const std::int64_t void_after = offset_.at_least(until_).count();
  const Answers done =
      connection_->run(std::exchange(pending_, {}) + commit_unless_late(config_->tables, void_after), until_);
  if (!done.trouble) return;
  if (done.trouble->code == too_late)
    throw_failure({Errc::unavailable, config_->name + ": timed out before the commit"});
  fail(*done.trouble);
}

// What is lost with its connection the server undoes by itself.
void MariaEngine::roll_back() noexcept {
  if (access_ == Access::read || connection_->ended()) return;
  try {
    (void)connection_->run(undo, std::max(until_, BootClock::now() + soon));
  } catch (const Failure&) {
    // Then it is of no more use, and the next call makes a new one.
  }
}

void MariaEngine::fail(const Trouble& trouble) const {
  if (was_overtaken(trouble.code) || was_locked(trouble.code)) throw Overtaken{trouble};
  throw_failure(statement_error(trouble, config_->name));
}

void MariaEngine::put(const std::string& statements) {
  pending_ += statements;
  wrote_ = true;
}

std::vector<Answer> MariaEngine::ask(const std::string& text, std::size_t count) {
  try {
    Answers answers = connection_->run(std::exchange(pending_, {}) + text, until_);
    if (answers.trouble) fail(*answers.trouble);
    answers.each.erase(answers.each.begin(), answers.each.end() - static_cast<std::ptrdiff_t>(count));
    return std::move(answers.each);
  } catch (const Failure& failure) {
    throw_failure(undone(failure.error()));
  }
}

// Of the transaction's begin: a claim that had to wait for a row is a little shorter for it.
core::JobMoment MariaEngine::moment() {
  if (moment_) return *moment_;
  const Instant sent = BootClock::now();
  const Micros now(ask(config_->tables.expand("SELECT {now_us};"), 1).front().number(0, 0));
  offset_.learn(sent, BootClock::now(), now);
  return moment_.emplace(core::JobMoment{.now = now, .wall = Moment(now)});
}

// -- leases

// Somebody's open transaction must not keep all other jobs from being claimed: a row that was waited for in
// vain is, at the next attempt, answered for by what everybody else sees of it, as the store does it.
Reply MariaEngine::lease(const Request& r) {
  const auto known = busy_.find(r.key.text);
  if (known != busy_.end() && r.verb == Verb::acquire) return known->second;
  if (known != busy_.end()) busy_.erase(known);
  // To lock it now would be out of order: two claims that set jobs aside would wait for each other.
  else if (set_aside_ && parts_ < most_parts && !busy_.empty() && r.key.text < busy_.rbegin()->first)
    throw SoFar{};
  const std::string key = config_->tables.key(r.key.text);
  // A finish has to release what it says it has released.
  const bool skips = stuck_.contains(r.key.text) && look_;
  const std::string seen_by_all = config_->tables.expand(
      "SELECT COALESCE(locked_by, ''), {us(locked_until)}, sequence FROM {locks} WHERE `key` = " + key + ";");
  std::vector<Answer> answers;
  try {
    answers = ask(
        with(read_,
             {{"keys", key}, {"skip", skips ? " SKIP LOCKED" : ""}, {"patience", ""}, {"more", seen_by_all}}),
        Seen::answers + 1);
  } catch (const Overtaken& overtaken) {
    if (was_locked(overtaken.trouble.code)) stuck_.emplace(r.key.text);
    throw;
  }
  const std::span<const Answer> read = std::span(answers).first(Seen::answers);
  if (!has_state(read)) throw_failure({Errc::unprepared, no_state_row(*config_)});
  Seen seen = seen_in(read, {r.key.text}, false);
  Kept& kept = seen.keys.begin()->second;
  const Micros now = seen.moment.now;
  if (const Answer& visible = answers.back(); skips && !kept.known && !visible.rows.empty()) {
    const bool live = !visible.text(0, 0).empty() && core::lease_is_live(visible.moment(0, 1), now);
    return {.verdict = r.verb == Verb::acquire ? Verdict::busy : Verdict::lost,
            .token = Token{static_cast<std::uint64_t>(visible.number(0, 2))},
            .owner = live ? std::string(visible.text(0, 0)) : "(a transaction that has its row locked)",
            .remaining = live ? core::remaining(visible.moment(0, 1), now) : soon,
            .now = StoreTime{now.count()}};
  }
  const Kept before = kept;
  core::Outcome outcome = core::decide(r, config_->client, kept.record, seen.moment);
  Writes writes(config_->tables);
  write(writes, r, before, kept.record, outcome, config_->client, now);
  if (!writes.empty()) put(writes.text());
  if (outcome.reply.verdict == Verdict::busy) busy_.emplace(r.key.text, outcome.reply);
  return std::move(outcome.reply);
}

std::string MariaEngine::lock_owner(Key lock) {
  const auto answers = ask(
      config_->tables.expand("SELECT locked_by FROM {locks} WHERE `key` = " + config_->tables.key(lock.text) +
                             " AND locked_by IS NOT NULL AND COALESCE(locked_until >= "
                             "{now}, TRUE);"),
      1);
  return answers.front().rows.empty() ? std::string() : std::string(answers.front().text(0, 0));
}

}  // namespace holdfast::mariadb
