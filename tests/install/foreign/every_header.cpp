// SPDX-License-Identifier: Apache-2.0
// A stranger's program: it includes every public header and uses what each declares, in memory and in a file
// of its own.  install_test.py builds it with every warning that a careful user may have.
#include <holdfast/admin.h>
#include <holdfast/check.h>
#include <holdfast/client.h>
#include <holdfast/clock.h>
#include <holdfast/export.h>
#include <holdfast/fence.h>
#include <holdfast/holdfast.h>
#include <holdfast/job.h>
#include <holdfast/job_args.h>
#include <holdfast/job_rows.h>
#include <holdfast/job_type.h>
#include <holdfast/job_worker.h>
#include <holdfast/jobs.h>
#include <holdfast/lease.h>
#include <holdfast/lock.h>
#include <holdfast/mariadb.h>
#include <holdfast/memory.h>
#include <holdfast/mongodb.h>
#include <holdfast/observer.h>
#include <holdfast/options.h>
#include <holdfast/postgres.h>
#include <holdfast/redis.h>
#include <holdfast/result.h>
#include <holdfast/rows.h>
#include <holdfast/spi/descriptor.h>
#include <holdfast/spi/job_engine.h>
#include <holdfast/spi/store.h>
#include <holdfast/sqlite.h>
#include <holdfast/version.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

void check(bool truth, const char* what) {
  if (truth) return;
  std::cout << "wrong: " << what << "\n";
  std::exit(1);
}

struct HOLDFAST_API Counter : holdfast::Observer {
  void on_acquired(const holdfast::AcquiredEvent& event) override {
    acquired += event.attempts > 0 && event.token != holdfast::no_token ? 1 : 0;
  }
  void on_lost(const holdfast::LostEvent& event) override {
    lost += event.lost.reason == holdfast::Loss::broken ? 1 : 0;
  }
  void on_store_call(const holdfast::StoreCallEvent& event) override { took += event.took.count(); }
  std::atomic<int> acquired = 0, lost = 0;
  std::atomic<std::int64_t> took = 0;
};

std::atomic<int> performed = 0;

struct Thumbnail {
  static constexpr std::string_view name = "Thumbnail";
  static constexpr holdfast::JobLock lock{.timeout = 1h, .loner = true};
  void perform(holdfast::JobContext& context, std::int64_t picture, const std::string& size) {
    check(context.held() && context.attempt() == 1 && picture == 7 && size == "small",
          "the arguments of a job");
    ++performed;
  }
};

// clock.h, options.h, result.h, rows.h, client.h, lease.h, observer.h
void leases(holdfast::Client client, Counter& counter) {
  holdfast::Lease lease = client.acquire("k", {.ttl = 30s, .wait = holdfast::forever, .note = "by hand"});
  const holdfast::Instant now = holdfast::BootClock::now();
  check(lease.held() && lease.deadline() > now && now + lease.remaining() > now, "a lease");
  const holdfast::Result<holdfast::Lease> busy = client.try_acquire("k");
  check(!busy && busy.error().busy() && busy.error().owner == lease.owner(), "busy");
  check(client.release("k", {lease.owner()}) == holdfast::Released::released, "a release by name");

  const holdfast::Lease endless = client.acquire("endless", {.ttl = holdfast::never, .owner = "me"});
  const holdfast::Millis left = client.renew("endless", {"me"}, 1h);
  check(left == holdfast::never && now + left > now, "a lease without end");
  check(client.release_all({"me"}) == 1, "all of an owner");
  const auto ran = client.run("k", {}, [](holdfast::Lease& mine) { return to_number(mine.token()); });
  check(ran && ran.value > to_number(lease.token()), "a token that rises");
  check(counter.acquired == 3, "an observer");
}

// lock.h
void locks(holdfast::Client client) {
  holdfast::Lock lock(client, "lock", {.ttl = 30s});
  const std::unique_lock locked(lock, 5s);
  check(locked.owns_lock() && lock.lease().held(), "a lock");
}

// admin.h, rows.h
void administration(holdfast::Client client, Counter& counter) {
  holdfast::Admin admin(client);
  const holdfast::Lease lease = client.acquire("broken", {.ttl = 30s, .owner = "ann"});
  const holdfast::Inspection found = admin.inspect("broken");
  check(found.lease.owner == "ann" && found.lease.remaining <= 30s, "an inspection");
  check(admin.break_lease("broken", found.lease.token, {.by = "olga", .reason = "a test"}) == "ann",
        "a break");
  check(admin.list({.what = holdfast::Query::What::log}).log.at(0).by == "olga", "the log");
  check(!lease.lost().detail.empty() ||
            client.try_renew("broken", {"ann"}, 30s).error().loss == holdfast::Loss::broken,
        "a loss");
  (void)admin.purge({.free_for = 24h, .log_older_than = holdfast::never});
  const holdfast::Diagnosis diagnosis = admin.diagnose();
  check(diagnosis.grade == holdfast::Grade::D && std::string(to_string(diagnosis.grade)) == "D", "a grade");
  check(diagnosis.findings.at(0).severity == holdfast::Severity::danger, "a finding");
  check(counter.took >= 0 && counter.lost >= 0, "the counts");
}

// check.h
void checks() {
  check(holdfast::check_key("nightly") && holdfast::check_ttl(30s) && holdfast::check_options({.wait = 1s}),
        "good input");
  check(holdfast::check_owner("").error().code == holdfast::Errc::invalid, "no owner");
  check(!holdfast::check_text(std::string(5000, 'x'), "the note"), "a long note");
}

// fence.h
void fences(holdfast::Token token) {
  holdfast::FenceGuard fence;
  const auto pass = fence.enter(token, 1s);
  check(pass.token() == token && to_number(token) > 0, "a fence");
}

// job.h, job_args.h, job_rows.h, job_type.h, job_worker.h, jobs.h
void work(holdfast::Client client) {
  holdfast::Jobs jobs(client);
  jobs.define<Thumbnail>();
  const holdfast::EnqueueResult first = jobs.perform_later<Thumbnail>(7, "small");
  check(std::holds_alternative<holdfast::Enqueued>(first), "a job");
  check(std::holds_alternative<holdfast::Duplicate>(jobs.perform_later<Thumbnail>(7, "small")), "a loner");
  const holdfast::JobOptions both{
      .lock = holdfast::JobLock{.loner = true, .unique = holdfast::Unique::until_start}};
  check(jobs.try_enqueue("Both", holdfast::Args::of(1), both).error().code == holdfast::Errc::invalid,
        "both");
  {
    holdfast::JobWorker worker(jobs, {.threads = 1, .poll = 10ms, .purge_every = holdfast::never});
    worker.wait_until_idle();
  }
  const holdfast::JobId failing = std::get<holdfast::Enqueued>(jobs.enqueue("Fails")).id;
  jobs.define("Fails", {.max_attempts = 1},
              [](holdfast::JobContext&, const holdfast::Args&) { throw std::runtime_error("no paper"); });
  {
    holdfast::JobWorker worker(jobs, {.threads = 1, .poll = 10ms});
    worker.wait_until_idle();
  }
  const holdfast::JobRow row = jobs.list({.id = failing}).at(0);
  check(jobs.take_tick({.name = "hourly", .tick = 1, .by = "me"}).taken, "a tick");
  jobs.note_success("hourly", "me");
  check(jobs.tick("hourly").success && !jobs.take_tick({.name = "hourly", .tick = 1}).taken, "a tick's row");
  check(holdfast::lock_keys("k", 2).at(1) == "k#2", "keys of a lock");
  check(performed == 1 && row.trail.at(0).event == "failed" && row.trail[0].at >= row.enqueued_at, "a trail");
}

// spi/store.h, spi/job_engine.h, memory.h
void store_by_hand() {
  const std::shared_ptr<holdfast::Store> store = holdfast::memory::store(holdfast::memory::make_database());
  const holdfast::Instant soon = holdfast::BootClock::now() + 5s;
  const auto connection = store->connect(soon).value();
  const holdfast::Request request{.verb = holdfast::Verb::acquire,
                                  .key = {"k"},
                                  .owner = {"me"},
                                  .ttl = holdfast::Millis(holdfast::never)};
  holdfast::Reply reply;
  connection->apply({&request, 1}, {&reply, 1}, soon).value();
  check(reply.verdict == holdfast::Verdict::granted && reply.remaining == holdfast::never, "a reply");
  const auto engine = store->jobs(soon).value();
  const holdfast::EnqueueReply told = engine->enqueue({.name = "Job", .key = "lock:Job"}, soon).value();
  check(told.what == holdfast::EnqueueReply::What::enqueued, "an engine");
}

// sqlite.h, postgres.h, redis.h, mongodb.h, mariadb.h
void stores() {
  const auto refused = [](const auto& store) {
    return !store && store.error().code == holdfast::Errc::invalid;
  };
  check(!holdfast::sqlite::default_path().empty(), "the default file");
  check(holdfast::sqlite::store({.path = "leases.db"})->get()->name().starts_with("sqlite:"), "sqlite");
  check(!holdfast::sqlite::store({.path = "leases.db", .table = "no table"}), "a table of sqlite");
  check(refused(holdfast::postgres::store({.conninfo = "postgres://here/app", .table = "no table"})),
        "postgres");
  check(refused(holdfast::redis::store({.port = 1, .db = -1})), "redis");
  check(refused(holdfast::mongodb::store({.uri = "nonsense", .layout = holdfast::mongodb::Layout::own})),
        "mongodb");
  check(refused(holdfast::mariadb::store({.port = 1, .database = "app", .table = "no table"})), "mariadb");
}

// spi/descriptor.h
void descriptors() {
  const holdfast::StoreDescriptor* const sqlite = holdfast::descriptor_of("sqlite:leases.db");
  check(sqlite != nullptr && sqlite->name == "sqlite" && sqlite == &holdfast::default_store(),
        "a descriptor");
  check(!sqlite->parameters.empty() && sqlite->place == holdfast::StorePlace::file, "what it says");
  check(holdfast::store_descriptors().size() > 1 && holdfast::descriptor_of("nothing:") == nullptr,
        "all of them");
}

}  // namespace

int main() {
  const auto counter = std::make_shared<Counter>();
  holdfast::Client client(holdfast::memory::store(holdfast::memory::make_database()),
                          {.purge_every = holdfast::never, .observer = counter});
  checks();
  leases(client, *counter);
  locks(client);
  administration(client, *counter);
  fences(client.acquire("fenced").token());
  work(client);
  store_by_hand();
  stores();
  descriptors();
  holdfast::Client file =
      holdfast::Client::open("sqlite:leases.db", {.connect = holdfast::Connect::lazy, .init = true});
  check(file.acquire("k").held(), "a file");
  const std::string version =
      std::to_string(HOLDFAST_VERSION_MAJOR) + "." + std::to_string(HOLDFAST_VERSION_MINOR);
  check(std::string(holdfast::version()).starts_with(version), "the version");
  std::cout << "used every header\n";
}
