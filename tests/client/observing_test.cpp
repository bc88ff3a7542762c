// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <future>
#include <latch>
#include <type_traits>

#include "tests/client/suite.h"
#include "tests/support/recorder.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

// A function of the text alone was enough before there were records, and is now.
static_assert(std::is_convertible_v<std::function<void(std::string_view)>, decltype(ClientOptions::log)>);
static_assert(std::is_convertible_v<void (*)(std::string_view), decltype(ClientOptions::log)>);

class Observing : public ClientTest {
 protected:
  const std::shared_ptr<Recorder> seen_ = std::make_shared<Recorder>();
  Trouble trouble_;
  Client client_ = troubled_client(trouble_, {.observer = seen_});
};

TEST_P(Observing, a_lease_is_acquired_renewed_and_released_once) {
  Lease lease = client_.acquire("k", {.ttl = 1min, .owner = "me"});
  lease.renew();
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_EQ(lease.release(), Released::already_released);
  for (const char* event : {"acquired", "renewed", "released"}) {
    SCOPED_TRACE(event);
    const auto found = seen_->of(event);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].store, client_.store_name());
    EXPECT_EQ(found[0].key, "k");
    EXPECT_EQ(found[0].owner, "me");
    EXPECT_EQ(found[0].token, lease.token());
  }
  EXPECT_EQ(seen_->of("acquired")[0].number, 1);
  EXPECT_EQ(seen_->of("renewed")[0].deadline, lease.deadline());
  EXPECT_EQ(seen_->of("released")[0].detail, "released");
  { const Lease another = client_.acquire("k"); }
  EXPECT_EQ(seen_->count("released", "released"), 2u) << "by its destructor";
  EXPECT_EQ(seen_->count("lost"), 0u);
}

TEST_P(Observing, a_busy_key_is_not_acquired_and_a_later_grant_has_the_time_it_waited) {
  Lease blocker = observer_.acquire("k", {.ttl = 1min});
  EXPECT_FALSE(client_.try_acquire("k", {.owner = "me"}));
  EXPECT_FALSE(client_.try_acquire("k", {.wait = 30ms}));
  EXPECT_FALSE(client_.try_acquire(""));
  const auto refused = seen_->of("not acquired");
  ASSERT_EQ(refused.size(), 2u) << "an empty key is a mistake of the caller";
  EXPECT_EQ(refused[0].detail, "busy");
  EXPECT_EQ(refused[0].key, "k");
  EXPECT_EQ(refused[0].owner, "me");
  EXPECT_EQ(refused[0].token, no_token);
  EXPECT_EQ(refused[1].detail, "timeout");
  EXPECT_FALSE(refused[1].owner.empty());
  EXPECT_GE(refused[1].waited, 20ms);

  ASSERT_TRUE(await([&] { return waiting("k") == 0; })) << "the place of the one that timed out";
  std::jthread waiter([&] { EXPECT_TRUE(client_.try_acquire("k", {.ttl = 1min, .wait = 60s})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  let_pass(20ms);
  blocker.release();
  waiter.join();
  const auto acquired = seen_->of("acquired");
  ASSERT_EQ(acquired.size(), 1u);
  EXPECT_GE(acquired[0].waited, 10ms);
  EXPECT_GT(acquired[0].number, 1);
}

TEST_P(Observing, each_renewal_of_the_client_has_the_new_deadline) {
  const Lease lease = client_.acquire("k", {.ttl = 1h, .renew_every = 5ms});
  ASSERT_TRUE(seen_->await("renewed", 3));
  const auto renewed = seen_->of("renewed");
  EXPECT_EQ(renewed[0].token, lease.token());
  EXPECT_LT(renewed[0].deadline, renewed[2].deadline);
}

TEST_P(Observing, an_outage_is_retries_and_jeopardy_and_a_loss_and_no_release) {
  Lease lease = short_lease(client_, "k", {.ttl = 3s});
  trouble_.set(Fault::Kind::refuse_before);
  ASSERT_TRUE(seen_->await("lost"));
  trouble_.end();
  (void)lease.try_release();
  EXPECT_EQ(seen_->of("lost")[0].token, lease.token());
  EXPECT_THAT(seen_->of("lost")[0].detail, StartsWith("unreachable: "));
  EXPECT_EQ(seen_->count("lost"), 1u);
  EXPECT_EQ(seen_->count("jeopardy"), 1u);
  EXPECT_EQ(seen_->of("jeopardy")[0].key, "k");
  const auto retries = seen_->of("retry", "renew unavailable");
  ASSERT_GE(retries.size(), 2u);
  EXPECT_EQ(retries[0].number, 1);
  EXPECT_EQ(retries[1].number, 2);
  EXPECT_EQ(seen_->count("released"), 0u) << "it ended with its loss";
  // Not as many as retries: where the machine is busy, the time of a call may be over before it is sent.
  EXPECT_TRUE(await([&] { return seen_->count("store call", "apply unavailable") >= 1; }));
}

TEST_P(Observing, a_lost_event_says_who_broke_the_lease) {
  {
    Lease lease = client_.acquire("k", {.ttl = 1min});
    by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
    EXPECT_EQ(lease.try_renew().error().code, Errc::lost);
    ASSERT_TRUE(seen_->await("lost"));
  }
  EXPECT_EQ(seen_->of("lost")[0].detail, "broken: broken by olga: stuck");
  EXPECT_EQ(seen_->count("lost"), 1u);
  EXPECT_EQ(seen_->count("released"), 0u);
}

TEST_P(Observing, an_acquire_and_a_release_that_are_sent_again_are_retries) {
  const auto failed = std::make_shared<std::atomic<int>>(0);
  Client client = chosen_client(
      [failed](std::span<const Request> requests) {
        const bool acquires = requests[0].verb == Verb::acquire && *failed == 0;
        const bool releases = requests[0].verb == Verb::release && *failed == 1;
        if (acquires || releases) ++*failed;
        return Fault{acquires ? Fault::Kind::lose_after
                              : (releases ? Fault::Kind::refuse_before : Fault::Kind::none)};
      },
      {.observer = seen_});
  Lease lease = client.acquire("k", {.ttl = 1min});
  auto retries = seen_->of("retry");
  ASSERT_EQ(retries.size(), 1u);
  EXPECT_EQ(retries[0].detail, "acquire in_doubt");
  EXPECT_EQ(retries[0].number, 1);
  EXPECT_EQ(retries[0].owner, lease.owner());
  EXPECT_EQ(seen_->of("acquired")[0].number, 2);

  EXPECT_FALSE(lease.try_release());
  EXPECT_TRUE(await([&] { return is_free("k"); }));
  retries = seen_->of("retry");
  ASSERT_EQ(retries.size(), 2u);
  EXPECT_EQ(retries[1].detail, "release unavailable");
  EXPECT_EQ(retries[1].token, lease.token());
  EXPECT_EQ(seen_->of("released")[0].detail, "no answer");
}

TEST_P(Observing, every_call_of_the_store_is_reported_with_its_size) {
  Counts counts;
  {
    Client client(wrapped(database_->new_client(),
                          [&counts](std::unique_ptr<StoreConnection> s) {
                            return std::make_unique<Counted>(std::move(s), counts);
                          }),
                  {.observer = seen_});
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] { client.acquire("k" + std::to_string(i), {.ttl = 1min}); });
    threads.clear();
    (void)client.read("k0");
  }
  std::uint64_t requests = 0;
  for (const Recorded& call : seen_->of("store call", "apply")) {
    requests += static_cast<std::uint64_t>(call.number);
    EXPECT_EQ(call.store, client_.store_name());
  }
  EXPECT_EQ(seen_->count("store call", "apply"), counts.trips);
  EXPECT_EQ(requests, counts.requests);
  EXPECT_EQ(seen_->count("store call", "list"), 1u);
  EXPECT_EQ(seen_->count("store call", "examine"), 2u) << "client_ has the same observer";
  EXPECT_GE(seen_->count("store call", "connect"), 2u);
}

// What an observer does while it gets the events of a lease.
class Doing : public Recorder {
 public:
  explicit Doing(std::function<void(std::string_view event)> f) : function(std::move(f)) {}
  void on_acquired(const AcquiredEvent& e) override { Recorder::on_acquired(e), function("acquired"); }
  void on_renewed(const RenewedEvent& e) override { Recorder::on_renewed(e), function("renewed"); }
  void on_lost(const LostEvent& e) override { Recorder::on_lost(e), function("lost"); }
  void on_released(const ReleasedEvent& e) override { Recorder::on_released(e), function("released"); }
  void on_store_call(const StoreCallEvent& e) override { Recorder::on_store_call(e), function("call"); }
  void on_log(const LogRecord& record) override { Recorder::on_log(record), function("log"); }

  std::function<void(std::string_view event)> function;
};

TEST_P(Observing, an_observer_that_throws_changes_nothing) {
  const auto throws = std::make_shared<Doing>([](std::string_view) { throw std::runtime_error("full"); });
  std::atomic<int> lines = 0;
  Client client = troubled_client(trouble_, {.log = [&](const LogRecord&) { ++lines; }, .observer = throws});
  const int before = lines;
  Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 5ms});
  ASSERT_TRUE(throws->await("renewed", 3));
  trouble_.set(Fault::Kind::refuse_before);
  EXPECT_TRUE(await([&] { return lines > before; })) << "the log gets its line all the same";
  trouble_.end();
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; }));
  EXPECT_EQ(lease.release(), Released::released);
  const Lease brief = short_lease(client, "l", {.ttl = 300ms, .keep = false});
  EXPECT_TRUE(throws->await("lost"));
}

TEST_P(Observing, an_observer_is_called_under_no_lock_and_may_use_the_client) {
  Client* client = nullptr;
  std::atomic<int> looked = 0;
  const auto uses = std::make_shared<Doing>([&](std::string_view event) {
    if (client == nullptr || event == "call" || event == "log") return;
    // By another thread, and this one waits for it: what this one holds, the other cannot have.
    EXPECT_TRUE(std::async(std::launch::async, [&] { return client->try_read("k"); }).get()) << event;
    ++looked;
  });
  Client used = new_client({.observer = uses});
  client = &used;
  {
    const Lease lease = used.acquire("k", {.ttl = 1h, .renew_every = 5ms});
    ASSERT_TRUE(uses->await("renewed"));
  }
  const Lease brief = short_lease(used, "l", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(uses->await("lost"));
  EXPECT_TRUE(await([&] { return looked >= 5; })) << "acquired twice, renewed, released, lost";
}

TEST_P(Observing, a_caller_whose_observer_is_slow_keeps_no_other_caller) {
  std::atomic<bool> slow = false;
  std::promise<void> stuck;
  std::latch others(1);
  const auto waits = std::make_shared<Doing>([&](std::string_view event) {
    if (event != "call" || !slow.exchange(false)) return;
    stuck.set_value();
    others.wait();
  });
  Client client = new_client({.observer = waits});
  slow = true;
  std::jthread first([&] { EXPECT_TRUE(client.try_acquire("k")); });
  stuck.get_future().wait();
  EXPECT_TRUE(client.try_acquire("l"));
  others.count_down();
}

TEST_P(Observing, an_observer_that_is_slow_delays_no_loss) {
  std::latch stopped(1);
  const auto waits = std::make_shared<Doing>([&](std::string_view event) {
    if (event == "lost") stopped.wait();
  });
  Client client = new_client({.observer = waits});
  const Lease first = short_lease(client, "k", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(waits->await("lost"));
  const Lease second = short_lease(client, "l", {.ttl = 300ms, .keep = false});
  EXPECT_TRUE(await([&] { return second.stop_token().stop_requested(); }));
  stopped.count_down();
  EXPECT_TRUE(waits->await("lost", 2));
}

TEST_P(Observing, a_log_line_has_a_level_and_fields_and_goes_to_the_log_too) {
  std::mutex mutex;
  std::vector<std::string> lines;
  Client client = troubled_client(trouble_, {.log =
                                                 [&](std::string_view line) {
                                                   const std::lock_guard lock(mutex);
                                                   lines.emplace_back(line);
                                                 },
                                             .observer = seen_});
  const std::size_t found = seen_->count("log");  // about the store
  Lease lease = client.acquire("k", {.ttl = 1h, .owner = "me", .renew_every = 5ms});
  trouble_.set(Fault::Kind::refuse_before);
  ASSERT_TRUE(seen_->await("log", found + 1));
  trouble_.end();
  ASSERT_TRUE(seen_->await("log", found + 2));
  lease.release();
  const auto records = seen_->of("log");
  EXPECT_THAT(records[found].detail, StartsWith("warning: cannot renew the lease on k: "));
  EXPECT_THAT(records[found].detail, HasSubstr("; trying again until its deadline"));
  EXPECT_THAT(
      records[found].fields,
      ElementsAre(Pair("store", client.store_name()), Pair("key", "k"), Pair("owner", "me"),
                  Pair("token", std::to_string(to_number(lease.token()))), Pair("error", ::testing::_)));
  EXPECT_EQ(records[found + 1].detail, "info: renewing leases works again");
  const std::lock_guard lock(mutex);
  EXPECT_THAT(lines.at(lines.size() - 2), StartsWith("cannot renew the lease on k: "));
}

TEST_P(Observing, no_event_is_reported_after_the_client_is_gone) {
  std::promise<void> go;
  std::atomic<bool> hangs = false, hung = false;
  auto store = wrapped(database_->new_client(), [&, may_go = go.get_future().share()](auto connection) {
    return std::make_unique<Faulty>(std::move(connection), [&, may_go](std::span<const Request> requests) {
      if (!hangs || requests[0].verb != Verb::renew) return Fault{};
      hung = true;
      may_go.wait();
      return Fault{Fault::Kind::refuse_before};
    });
  });
  {
    Client client(store, {.observer = seen_});
    const Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 5ms});
    hangs = true;
    ASSERT_TRUE(await([&] { return hung.load(); }));
  }
  const std::size_t told = seen_->size();
  go.set_value();
  EXPECT_TRUE(await([&] { return store.use_count() == 1; })) << "the thread that was left behind has ended";
  EXPECT_EQ(seen_->size(), told);
}

HOLDFAST_ON_EVERY_STORE(Observing);

}  // namespace
}  // namespace holdfast::test
