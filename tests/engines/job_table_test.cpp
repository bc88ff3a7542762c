// SPDX-License-Identifier: Apache-2.0
// Every store decides about jobs as core/job_rule.h and rows/row_engine.h do, which memory asks: each case of
// job_cases.h has the same answers and leaves the same rows, to the tick of the store's clock.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "base/random.h"
#include "holdfast/memory.h"
#include "tests/engines/job_cases.h"
#include "tests/support/fixed_clock.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

constexpr int most_told = 5;  // disagreements of each kind

// The jobs of one case in one database.
class Story {
 public:
  Story(std::size_t number, Moment zero) : zero_(zero) {
    const std::string digits = std::to_string(number);
    name_ = std::string(6 - digits.size(), '0') + digits;
  }

  std::string ask(JobEngine& engine, StoreConnection& operator_, StoreConnection& waiter, const JobAsk& a,
                  Instant until) {
    switch (a.verb) {
      case JobVerb::enqueue: return enqueue(engine, a, until);
      case JobVerb::claim: return claim(engine, a, until);
      case JobVerb::renew: return renew(engine, a, until);
      case JobVerb::finish: return finish(engine, a, until);
      case JobVerb::cancel: return change(engine, a, JobChange::cancel, until);
      case JobVerb::retry: return change(engine, a, JobChange::retry, until);
      case JobVerb::remove: return change(engine, a, JobChange::remove, until);
      case JobVerb::acquire:
      case JobVerb::release: return lease(operator_, a, "olga", 0ms, until);
      case JobVerb::queue_up: return lease(waiter, a, "wanda", 1h, until);
    }
    return {};
  }

  // All that is kept of it.
  std::string rows(JobEngine& engine, StoreConnection& connection, Instant until) {
    std::ostringstream out;
    for (const JobRow& row : engine.list({.key = key()}, until).value()) out << "  " << text(row) << "\n";
    for (const LeaseRow& row : connection.list({.prefix = key()}, until).value().leases)
      if (row.token != no_token || !row.owner.empty())
        out << "  lease " << row.key << " of '" << row.owner << "' token " << to_number(row.token)
            << " remaining " << left(row.remaining) << " waiting " << row.waiting << "\n";
    const TickRow tick = engine.tick(tick_name(), until).value();
    if (tick.tick != -1) out << "  tick " << tick.tick << " at " << text(tick.at) << "\n";
    return out.str();
  }

  // Of leases that a server ends by its own clock, only whether they have an end is compared.
  void compare_ends_roughly() { rough_ = true; }

 private:
  std::string key() const { return "job:" + name_; }
  std::string tick_name() const { return "tick:" + name_; }
  std::string lock(const JobAsk& a) const {
    return key() + (a.lock == 0 ? "" : "#" + std::to_string(a.lock));
  }
  JobId id(const JobAsk& a) const { return a.job < ids_.size() ? ids_[a.job] : JobId{1'000'000'000}; }

  std::string text(Moment at) const { return std::to_string((at - zero_).count()) + "us"; }
  std::string text(std::optional<Moment> at) const { return at ? text(*at) : "-"; }
  std::string left(Millis remaining) const {
    if (remaining == never) return "never";
    return rough_ && remaining > 1s ? "some" : std::to_string(remaining.count()) + "ms";
  }
  std::string text(JobId id) const {
    const auto at = std::find(ids_.begin(), ids_.end(), id);
    return at == ids_.end() ? "#?" : "#" + std::to_string(at - ids_.begin());
  }
  std::string text(const std::optional<Error>& error) const { return error ? " error " + error->detail : ""; }
  std::string text(const JobRow& row) const {
    std::ostringstream out;
    out << text(row.id) << " " << row.name << " " << row.queue << " " << row.args << " " << row.key << " p"
        << row.priority << " " << to_string(row.state) << " enqueued " << text(row.enqueued_at) << " run "
        << text(row.run_at) << " due " << (row.state == JobState::queued ? text(row.due_at) : "-")
        << " started " << text(row.started_at) << " finished " << text(row.finished_at) << " attempt "
        << row.attempt << " crashes " << row.crashes << " of " << row.max_attempts << " ttl "
        << row.lock_ttl.count() << " fixed " << row.lock_fixed << " limit " << row.limit << " "
        << to_string(row.on_conflict) << " " << to_string(row.unique) << " slotted " << row.slotted
        << " parked " << row.parked << " owner '" << row.owner << "' lock '" << row.lock << "' token "
        << to_number(row.token) << " claim " << row.claim_remaining.count() << "ms error '" << row.error
        << "' dups " << row.duplicates;
    for (const TrailEntry& entry : row.trail)
      out << " [" << text(entry.at) << " " << entry.event << " " << entry.detail << "]";
    return out.str();
  }
  std::string with_names(std::string told) const {
    for (const JobId id : ids_) {
      const std::string number = "job " + std::to_string(to_number(id));
      for (std::size_t at = told.find(number); at != std::string::npos; at = told.find(number))
        told.replace(at, number.size(), "job " + text(id));
    }
    return told;
  }

  std::string enqueue(JobEngine& engine, const JobAsk& a, Instant until) {
    const std::string ticks = a.tick_name.empty() ? "" : tick_name(), in = key(),
                      args = "[" + std::to_string(++asked_) + "]";
    const auto reply = engine.enqueue({.name = "Job",
                                       .queue = name_,
                                       .args = args,
                                       .priority = a.priority,
                                       .at = zero_ + a.due,
                                       .max_attempts = 2,
                                       .key = in,
                                       .lock_ttl = a.lock_ttl,
                                       .lock_fixed = a.lock_fixed,
                                       .limit = a.limit,
                                       .on_conflict = a.on_conflict,
                                       .unique = a.unique,
                                       .tick_name = ticks,
                                       .tick = a.tick},
                                      until);
    if (!reply) return "failed: " + reply.error().detail;
    if (reply->what == EnqueueOutcome::enqueued) ids_.push_back(reply->id);
    std::ostringstream out;
    out << "enqueue " << static_cast<int>(reply->what) << " ";
    if (reply->what != EnqueueOutcome::locked)
      out << text(reply->id) << " " << to_string(reply->state) << " since " << text(reply->since);
    out << " owner '" << reply->owner << "' now " << text(reply->now) << text(reply->error);
    return out.str();
  }

  std::string claim(JobEngine& engine, const JobAsk& a, Instant until) {
    const std::vector<std::string> queues = {name_};
    const auto claimed = engine.claim(
        {.queues = queues, .owner = {a.worker}, .ttl = a.ttl, .max_crashes = a.max_crashes}, until);
    if (!claimed) return "failed: " + claimed.error().detail;
    if (claimed->what == Got::running || claimed->what == Got::raised) claims_[a.worker] = claimed->job;
    std::ostringstream out;
    out << "claim " << static_cast<int>(claimed->what) << " now " << text(claimed->now)
        << text(claimed->error);
    if (claimed->what == Got::nothing) {
      out << " next " << claimed->next.count() << "ms";
    } else {
      out << " recovered " << claimed->recovered << " lock " << left(claimed->lock_remaining) << " blocker '"
          << claimed->blocker << "' " << text(claimed->job);
    }
    return out.str();
  }

  std::string renew(JobEngine& engine, const JobAsk& a, Instant until) {
    const ClaimRef ref{id(a), {a.worker}, a.ttl};
    ClaimReply reply;
    if (Status s = engine.renew({&ref, 1}, {&reply, 1}, until); !s) return "failed: " + s.error().detail;
    return std::string("renew ") + (reply.held ? "held" : "lost") + text(reply.error);
  }

  std::string finish(JobEngine& engine, const JobAsk& a, Instant until) {
    const JobRow claimed = claims_.empty() ? JobRow{} : claims_.begin()->second;
    const auto done = engine.finish({.id = id(a),
                                     .owner = {a.worker},
                                     .to = a.to,
                                     .in = a.in,
                                     .counts = a.counts,
                                     .error = a.to == JobState::done ? "" : "why\nnot",
                                     .lock = {claimed.lock},
                                     .token = claimed.token},
                                    until);
    if (!done) return "failed: " + done.error().detail;
    return std::string("finish ") + (done->finished ? "finished " : "") +
           (done->released ? "released " : "") + text(done->now) + text(done->error);
  }

  std::string change(JobEngine& engine, const JobAsk& a, JobChange what, Instant until) {
    const auto changed = engine.change(id(a), what, "olga", until);
    return std::string("change ") + (changed ? text(*changed) : with_names(changed.error().detail));
  }

  std::string lease(StoreConnection& connection, const JobAsk& a, std::string_view owner, Millis place,
                    Instant until) {
    const std::string of = lock(a);
    const Request request{.verb = a.verb == JobVerb::release ? Verb::release : Verb::acquire,
                          .key = {of},
                          .owner = {owner},
                          .ttl = a.ttl,
                          .place = place,
                          .longest_place = place};
    Reply reply;
    if (Status s = connection.apply({&request, 1}, {&reply, 1}, until); !s)
      return "failed: " + s.error().detail;
    return "lease " + std::to_string(static_cast<int>(reply.verdict)) + " token " +
           std::to_string(to_number(reply.token)) + " '" + reply.owner + "'" + text(reply.error);
  }

  std::string name_;
  const Moment zero_;
  std::vector<JobId> ids_;
  std::map<std::string, JobRow> claims_;  // of each worker the last
  int asked_ = 0;
  bool rough_ = false;
};

// A case in memory: a database of its own, on the clock of the store that it is compared with.
class Model {
 public:
  explicit Model(const FixedClock& clock)
      : database_(memory::make_database({.expiry = [&clock] { return Instant(clock.moment().now); },
                                         .wall = [&clock] { return Moment(clock.moment().wall); }})),
        us_(memory::store(database_)),
        operator_(memory::store(database_)),
        waiter_(memory::store(database_)) {}

  JobEngine& engine() { return *engine_; }
  StoreConnection& of_operator() { return *of_operator_; }
  StoreConnection& of_waiter() { return *of_waiter_; }

 private:
  const std::shared_ptr<memory::Database> database_;
  const std::shared_ptr<Store> us_, operator_, waiter_;
  const std::unique_ptr<JobEngine> engine_ = us_->jobs(Instant::max()).value();
  const std::unique_ptr<StoreConnection> of_operator_ = operator_->connect(Instant::max()).value(),
                                         of_waiter_ = waiter_->connect(Instant::max()).value();
};

class JobTable : public ::testing::TestWithParam<Kind> {
 protected:
  struct Played {
    const JobCase* about;
    Story here, model_story;
    std::unique_ptr<Model> model;
    bool told = false;
  };
  static Instant in_time() { return BootClock::now() + 20s; }

  void play(Played& of, const JobAsk& ask) {
    const std::string got = of.here.ask(clock_->engine(), clock_->connection(Who::holder),
                                        clock_->connection(Who::first_waiter), ask, in_time());
    const std::string want = of.model_story.ask(of.model->engine(), of.model->of_operator(),
                                                of.model->of_waiter(), ask, Instant::max());
    if (want.starts_with("failed:")) ADD_FAILURE() << of.about->name << ": " << want;
    compare("answer", of, got, want);
  }
  void compare(const char* what, Played& of, const std::string& got, const std::string& want) {
    if (got == want || of.told) return;
    of.told = true;  // what follows is different because of it
    if (++disagreements_[what] <= most_told)
      ADD_FAILURE() << what << " of: " << of.about->name << "\n  memory: " << want << "\n  here:   " << got;
  }

  std::unique_ptr<FixedClock> clock_;
  std::map<std::string, int> disagreements_;
};

TEST_P(JobTable, every_case_is_answered_as_in_memory) {
  clock_ = FixedClock::of(GetParam());
  const std::vector<JobCase> cases = all_job_cases(clock_->tick());
  clock_->put(0s);
  const Moment zero = Moment(clock_->moment().wall);
  const char* const given = std::getenv("HOLDFAST_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : random_bits();
  std::cout << "HOLDFAST_SEED=" << seed << " repeats this\n";
  Jitter random(seed);
  const bool all = !GetParam().server || std::getenv("HOLDFAST_ALL_CASES") != nullptr;
  const std::uint64_t one_of = all ? 1 : 16;
  std::vector<Played> chosen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].lock_ends && !clock_->fixes_leases()) continue;
    if (random.below(one_of) != 0) continue;
    chosen.push_back({&cases[i], Story(i, zero), Story(i, zero), std::make_unique<Model>(*clock_)});
    if (clock_->fixes_leases()) continue;
    chosen.back().here.compare_ends_roughly();
    chosen.back().model_story.compare_ends_roughly();
  }
  // All stories at once, moment by moment: each has a queue of its own.
  std::map<Micros, std::vector<std::pair<Played*, const JobAsk*>>> moments;
  for (Played& of : chosen)
    for (const JobStep& step : of.about->before) moments[step.at].emplace_back(&of, &step.ask);
  for (Played& of : chosen) moments[0s].emplace_back(&of, &of.about->asked);
  for (const auto& [at, asks] : moments) {
    clock_->put(at);
    for (const auto& [of, ask] : asks) play(*of, *ask);
  }
  for (Played& of : chosen)
    compare("row", of, of.here.rows(clock_->engine(), clock_->connection(Who::us), in_time()),
            of.model_story.rows(of.model->engine(), of.model->of_operator(), Instant::max()));
  for (const auto& [what, count] : disagreements_)
    std::cout << what << " disagrees in " << count << " cases\n";
  std::cout << GetParam().name << ": " << chosen.size() << " of " << cases.size() << " cases\n";
  RecordProperty("cases", static_cast<int>(chosen.size()));
}

// Without active_job_lock, whose locks last whole seconds, as the gem has them.
std::vector<holdfast::test::Kind> kinds_of_the_table() {
  auto kinds = job_kinds();
  std::erase_if(kinds,
                [](const auto& kind) { return kind.name == "active_job_lock" || kind.name == "memory"; });
  return kinds;
}
HOLDFAST_ON_STORES(JobTable, kinds_of_the_table());

}  // namespace
}  // namespace holdfast::test
