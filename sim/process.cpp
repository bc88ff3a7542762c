// SPDX-License-Identifier: Apache-2.0
#include "sim/process.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/wakeup.h"
#include "base/worker.h"
#include "client/client_access.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_pending_release = 500ms;  // the limit of the keeper's call

DriftingClock clock_of(RunContext& context) {
  const int most = context.plan.client_ppm;
  const int ppm = static_cast<int>(context.dice.fraction() * 2 * most);
  const Micros booted = context.dice.between(Micros(1h), Micros(100h));
  return {booted, most < 0 ? std::max(ppm, most) : std::min(ppm, most)};
}

Millis some_ttl(RunContext& context) { return std::chrono::floor<Millis>(context.dice.spread(500ms, 6s)); }

// Counts the situations that a user's observer can see.
class Situations final : public Observer {
 public:
  explicit Situations(RunContext& context) : context_(context) {}
  void on_renewed(const RenewedEvent& event) override {
    if (of_the_dead()) return;
    const auto token = to_number(event.token);
    if (in_jeopardy_.erase(token) > 0) context_.sometimes(Sometimes::in_jeopardy_and_recovered);
    if (failures_[token] >= 2) context_.sometimes(Sometimes::renewed_after_two_failures);
    failures_.erase(token);
  }
  void on_jeopardy(const LeaseEvent& lease) override {
    if (of_the_dead()) return;
    in_jeopardy_.insert(to_number(lease.token));
    context_.sometimes(Sometimes::in_jeopardy);
  }
  void on_retry(const RetryEvent& event) override {
    if (of_the_dead()) return;
    if (event.what == RetryEvent::What::renew) failures_[to_number(event.token)] = event.attempt;
    if (event.what == RetryEvent::What::release) context_.sometimes(Sometimes::pending_release_tried_again);
  }

 private:
  bool of_the_dead() const { return context_.timeline.dead(Threads::here().home().process); }

  RunContext& context_;
  std::set<std::uint64_t> in_jeopardy_;
  std::map<std::uint64_t, int> failures_;
};

}  // namespace

// Sees what the process sends.
class Process::Watch final : public Watcher {
 public:
  Watch(Surroundings world, Process& process) : world_(world), process_(process) {}

  bool dead() const override { return dead_; }
  void die() { dead_ = true; }
  // The current thread is one of those that use the client.
  void joins() { users_.insert(Threads::here().current()); }
  // A connection that the client's own threads open is one that renews.
  void connecting(Instant at) override {
    if (!users_.contains(Threads::here().current())) world_.holdings.renewals_sent(process_.id(), at);
  }
  void sent(const Message& message, Instant at, Instant until) override {
    if (message.verb == Verb::renew) world_.holdings.renewal_sent(message.attempt_id, at);
    if (message.verb != Verb::release || message.place == Millis::zero()) return;
    // Connecting takes time, in which somebody may have begun to wait.
    if (!process_.waits_since_before(message.key, until - one_pending_release)) return;
    world_.context.violated("a place is kept while somebody wants it",
                            "process " + std::to_string(process_.id()) + " gave up its place for k" +
                                std::to_string(message.key) + " while other threads of it wait");
  }

 private:
  const Surroundings world_;
  Process& process_;
  bool dead_ = false;
  std::set<std::shared_ptr<Thread>> users_;  // kept, so that no other gets the address
};

// A thread waits in a queue, until destroyed.
class Process::InQueue {
 public:
  InQueue(Process& process, AttemptId attempt_id, int key)
      : process_(process), attempt_id_(attempt_id), key_(key) {
    process.waits_.emplace(attempt_id, Waiting{process.context().now(), key});
  }
  ~InQueue() {
    process_.waits_.erase(attempt_id_);
    process_.left_[key_] = process_.context().now();
  }
  InQueue(const InQueue&) = delete;
  InQueue& operator=(const InQueue&) = delete;

  bool first() const {
    return std::none_of(process_.waits_.begin(), process_.waits_.lower_bound(attempt_id_),
                        [&](const auto& entry) { return entry.second.key == key_; });
  }

 private:
  Process& process_;
  const AttemptId attempt_id_;
  const int key_;
};

Process::Process(Surroundings world, Timeline::Owner id)
    : world_(world),
      clock_(clock_of(world.context)),
      home_{id, &clock_},
      watch_(std::make_shared<Watch>(world, *this)),
      store_(std::make_shared<SimStore>(world.network, world.server, world.ledger, id,
                                        world.server.welcome(id), watch_)) {}

void Process::start(int threads) {
  Threads::here().start(home_, [this, threads] {
    run(threads);
    done_ = true;
  });
}

bool Process::ended() const { return Threads::here().alive(home_.process) == 0; }

void Process::kill() {
  watch_->die();
  world_.holdings.process_died(home_.process);
  world_.labour.process_died(home_.process);
  Threads::here().start(home_, [this] { killed_.request_stop(); });
}

bool Process::over() const { return context().closing() || watch_->dead(); }

void Process::run(int threads) {
  const bool observed = context().dice.chance(0.5);
  while (!client_ && !over()) {
    auto client =
        Client::try_make(store_, {.connect_wait = 3s,
                                  .place = context().plan.place,
                                  .purge_every = std::chrono::floor<Millis>(context().dice.spread(2s, 60s)),
                                  .observer = observed ? std::make_shared<Situations>(context()) : nullptr});
    if (client)
      client_.emplace(*std::move(client));
    else
      sleep(in(10ms, 300ms));
  }
  if (client_) use_client(threads);
  client_.reset();
}

void Process::use_client(int threads) {
  std::optional<Jobs> jobs;
  std::optional<JobWorker> worker;
  std::vector<Worker> workers;
  if (context().plan.jobs) {
    jobs.emplace(*client_);
    const JobOptions options{.max_attempts = 3, .backoff = 200ms};
    JobOptions locked = options;
    locked.lock = JobLock{};
    const JobFunction function = [this](JobContext& job, const Args&) { perform(job); };
    jobs->define("Plain", options, function).define("Locked", locked, function);
    const WorkerOptions how{.threads = context().dice.between(1, 3),
                            .claim = some_ttl(context()),
                            .grace = 500ms,
                            .on_event = [this](const JobEvent& event) { note_job(event); }};
    worker.emplace(*jobs, how);
    if (context().dice.chance(0.5)) {  // a deployment
      sleep(in(1s, 10s));
      worker.reset();
      worker.emplace(*jobs, how);
    }
    workers.emplace_back([this, &jobs] { enqueue_jobs(*jobs); });
  }
  for (int i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
  for (Worker& thread : workers) thread.finish(Millis(forever));
  const Instant patience = in(40s, 40s);
  while (worker && !watch_->dead() && !world_.labour.all_over() && BootClock::now() < patience)
    sleep(in(100ms, 100ms));
}

void Process::enqueue_jobs(const Jobs& jobs) {
  watch_->joins();
  while (!context().calm() && !watch_->dead()) {
    sleep(in(10ms, 4s));
    if (context().calm() || watch_->dead()) return;
    const bool locked = context().dice.chance(0.6);
    const auto enqueued = locked ? jobs.try_enqueue("Locked", Args::of(context().dice.between(1, 2)))
                                 : jobs.try_enqueue("Plain");
    if (enqueued && !watch_->dead())
      if (const auto* made = std::get_if<Enqueued>(&*enqueued)) world_.labour.enqueued(made->id);
  }
}

// What a job does: it takes its time, sometimes fails, and looks whether it may go on.
void Process::perform(JobContext& job) {
  if (watch_->dead()) return;
  Labour::Run run(world_.labour, job, home_);
  if (job.attempt() > 1) context().sometimes(Sometimes::job_ran_again);
  const Instant enough = in(1ms, context().calm() ? 100ms : 3s);
  while (!watch_->dead() && BootClock::now() < enough) {
    job.check();
    sleep(std::min(enough, in(1ms, 300ms)));
  }
  if (!context().calm() && context().dice.chance(0.1)) throw std::runtime_error("it fails");
}

void Process::note_job(const JobEvent& event) {
  if (watch_->dead()) return;
  context().note({.process = id(),
                  .what = to_string(event.what),
                  .attempt_id = static_cast<int>(to_number(event.job.id))});
  if (event.what == JobEvent::What::lost) context().sometimes(Sometimes::job_lost_its_claim);
  if (event.what == JobEvent::What::handed_back) context().sometimes(Sometimes::job_was_handed_back);
}

void Process::sleep(Instant until) {
  Wakeup wakeup;
  const std::stop_callback wake(killed_.get_token(), [&] { wakeup.ring(); });
  wakeup.wait(until);
}

Instant Process::in(Micros least, Micros most) {
  return BootClock::now() + context().dice.spread(least, most);
}

void Process::work() {
  watch_->joins();
  while (true) {
    sleep(in(context().calm() ? 50ms : 1ms, context().calm() ? 2s : 1500ms));
    if (over()) return;
    const Wants wants = draw_wants(context());
    const AttemptId attempt_id =
        world_.ledger.new_attempt(id(), {.named = wants.stranger, .queues = wants.queues()});
    if (wants.stranger) world_.ledger.known_as(attempt_id, wants.name(attempt_id));
    auto lease = acquire(wants, attempt_id);
    if (!lease) continue;
    Holdings::Holding holding(world_.holdings, *lease,
                              {attempt_id, wants.key, home_, wants.ttl, wants.kept()});
    hold(*lease, holding, wants.ttl);
    release(*lease, holding, wants.detached);
    lease.reset();  // its destructor may release it, and it is looked at until then
  }
}

std::optional<Lease> Process::acquire(const Wants& wants, AttemptId attempt_id) {
  std::optional<InQueue> in_queue;
  if (wants.queues()) in_queue.emplace(*this, attempt_id, wants.key);
  const Instant start = BootClock::now();
  auto lease =
      client_->try_acquire(Server::text_of(wants.key), wants.options(attempt_id, killed_.get_token()));
  if (watch_->dead()) return std::nullopt;
  check_duration(wants, attempt_id, start);
  if (!lease) {
    world_.ledger.over(attempt_id, true);
    note_failure(attempt_id, wants, lease.error());
    return std::nullopt;
  }
  if (in_queue && !in_queue->first())
    context().violated("first come, first served", "attempt " + std::to_string(attempt_id) +
                                                       " was granted before earlier ones of its own process");
  context().note({.process = id(),
                  .what = "is granted",
                  .key = wants.key,
                  .attempt_id = attempt_id,
                  .token = lease->token()});
  if (lease->attempts() == 1)
    context().sometimes(Sometimes::granted_at_the_first_attempt);
  else if (in_queue)
    context().sometimes(Sometimes::granted_after_waiting_in_the_queue);
  else
    context().sometimes(wants.fair ? Sometimes::granted_on_schedule
                                   : Sometimes::granted_out_of_order_on_request);
  return std::optional<Lease>(*std::move(lease));
}

// At the end of its wait, or of one attempt; unless the process was paused meanwhile.
void Process::check_duration(const Wants& wants, AttemptId attempt_id, Instant start) {
  const bool paused = clock_.at(context().timeline.went_on(id())) >= start;
  if (paused || wants.wait == forever || wants.attempts > 0) return;
  // As client.h says; not by the function that is judged.
  const Millis allowed = std::max(wants.wait, std::clamp(wants.ttl / 6, Millis(50), Millis(2000))) + 20ms;
  if (BootClock::now() > start + allowed)
    context().violated("calls return in time", "attempt " + std::to_string(attempt_id) +
                                                   " took longer than " + std::to_string(allowed.count()) +
                                                   " ms");
}

void Process::note_failure(AttemptId attempt_id, const Wants& wants, const Error& error) {
  context().note({.process = id(),
                  .what = "gives up",
                  .key = wants.key,
                  .attempt_id = attempt_id,
                  .more = holdfast::to_string(error.code)});
  switch (error.code) {
    case Errc::busy: context().sometimes(Sometimes::busy_and_not_waited); break;
    case Errc::timeout: context().sometimes(Sometimes::wait_over_in_the_queue); break;
    case Errc::exhausted: context().sometimes(Sometimes::schedule_exhausted); break;
    case Errc::too_late: context().sometimes(Sometimes::too_late_and_given_back); break;
    case Errc::in_doubt: context().sometimes(Sometimes::in_doubt_to_the_end); break;
    case Errc::unavailable: break;
    case Errc::stopped:
    case Errc::lost:
    case Errc::refused:
    case Errc::unprepared:
    case Errc::invalid:
    case Errc::forked:
      context().violated("known outcomes", std::string("an acquire ended with ") +
                                               holdfast::to_string(error.code) + ": " + error.detail);
      break;
  }
}

// Until it has had enough of it, or has lost it.
void Process::hold(Lease& lease, Holdings::Holding& holding, Millis ttl) {
  const bool calm = context().calm();
  const bool to_the_end = context().dice.chance(0.2);
  const Micros longest = calm ? 200ms : std::min<Micros>(std::min(ttl, Millis(3s)) * 3, 9s);
  if (ttl == never) context().sometimes(Sometimes::held_without_end);
  const Instant enough = in(to_the_end ? longest : 1ms, longest);
  while (!watch_->dead() && holding.held() && BootClock::now() < enough) {
    sleep(std::min(enough, in(1ms, context().calm() ? 200ms : 2s)));
    if (context().calm() || watch_->dead() || !holding.held()) break;
    if (!to_the_end && context().dice.chance(0.4)) renew_by_hand(lease, ttl);
  }
}

void Process::renew_by_hand(Lease& lease, Millis ttl) {
  Dice& dice = context().dice;
  const Plan& plan = context().plan;
  if (dice.chance(0.3)) {
    if (lease.try_extend_by(std::chrono::floor<Millis>(dice.spread(plan.shortest_ttl, 1s))))
      context().sometimes(Sometimes::extended_by_hand);
    return;
  }
  const bool as_before = dice.chance(0.5);
  const Millis asked = as_before && ttl != never
                           ? ttl
                           : std::chrono::floor<Millis>(dice.spread(plan.shortest_ttl, plan.longest_ttl));
  if (lease.try_renew(asked)) context().sometimes(Sometimes::renewed_by_hand);
}

void Process::release(Lease& lease, Holdings::Holding& holding, bool detached) {
  const bool let_go = context().dice.chance(0.4);  // the destructor does it
  if (watch_->dead()) return;
  holding.ends();
  if (let_go && detached) context().sometimes(Sometimes::left_to_itself);
  if (let_go) return;
  const auto found = lease.try_release();
  if (lease.held())
    context().violated("what was released is not held", "attempt of " + std::string(lease.owner()));
  if (watch_->dead()) return;
  if (!found) {
    if (found.error().in_doubt()) context().sometimes(Sometimes::release_in_doubt);
    return;
  }
  switch (*found) {
    case Released::released: context().sometimes(Sometimes::released); break;
    case Released::expired: context().sometimes(Sometimes::release_found_it_expired); break;
    case Released::stolen: context().sometimes(Sometimes::release_found_it_taken); break;
    case Released::already_released:
    case Released::broken: break;  // an operator's work, or our own doubled message's
    case Released::never_held: context().sometimes(Sometimes::release_found_it_purged); break;
  }
}

True Process::waits_since() const {
  True since = never_comes;
  for (const auto& [attempt_id, waiting] : waits_) since = std::min(since, waiting.since);
  return since;
}

bool Process::waits_since_before(int key, Instant moment) const {
  return std::any_of(waits_.begin(), waits_.end(), [&](const auto& entry) {
    return entry.second.key == key && clock_.at(entry.second.since) < moment;
  });
}

std::size_t Process::waiters(int key) const {
  return client_ ? ClientAccess::waiters(*client_, Server::text_of(key)) : 0;
}

True Process::left(int key) const {
  const auto at = left_.find(key);
  return at == left_.end() ? True(0) : at->second;
}

}  // namespace holdfast::sim
