// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <future>
#include <latch>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Keep : public ClientTest {
 protected:
  // How a lease ends whose store is in trouble from now on.
  Lost lost_in(Trouble& trouble, Lease& lease, Fault::Kind kind, Millis length = 0ms) {
    std::promise<Lost> told;
    lease.on_lost([&](const Lost& lost) { told.set_value(lost); });
    trouble.set(kind, length);
    std::future<Lost> answer = told.get_future();
    EXPECT_EQ(answer.wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(lease.stop_token().stop_requested());
    EXPECT_FALSE(lease.held());
    return answer.get();
  }
};

TEST_P(Keep, a_kept_lease_lives_far_longer_than_its_ttl) {
  Client client = new_client();
  const Lease lease = short_lease(client, "k", {.ttl = 6s});
  const Instant would_have_ended = lease.deadline();
  ASSERT_TRUE(await([&] { return BootClock::now() > would_have_ended + 500ms || !lease.held(); }));
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(is_free("k"));
}

TEST_P(Keep, all_leases_are_renewed_in_one_batch) {
  Counts counts;
  Client client = counted_client(counts);
  std::vector<Lease> leases;
  for (int i = 0; i < 50; ++i) leases.push_back(client.acquire("k" + std::to_string(i), {.ttl = 12s}));
  const auto trips = counts.trips.load();
  const Instant first = leases.back().deadline();
  ASSERT_TRUE(await([&] { return leases.back().deadline() > first; }));
  EXPECT_GE(counts.requests - 50, 50u);
  EXPECT_LT(counts.trips - trips, 25u);
}

TEST_P(Keep, nobody_renews_a_lease_that_is_not_kept) {
  Client client = new_client();
  const Lease lease = short_lease(client, "k", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_TRUE(await([&] { return !lease.held(); }));
  EXPECT_EQ(lease.lost().reason, Loss::unreachable);
}

TEST_P(Keep, renewing_stops_after_max_renewals) {
  std::atomic<bool> counting = false;
  std::atomic<int> renewed = 0;
  Client client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].verb == Verb::renew) await([&] { return counting.load(); });
    return Fault{};
  });
  Lease lease = short_lease(client, "k", {.ttl = 2s, .renew_every = 50ms, .max_renewals = 2});
  lease.on_renewed([&](Instant) { ++renewed; });
  counting = true;
  ASSERT_TRUE(await([&] { return !lease.held(); }));
  EXPECT_EQ(renewed, 2);
}

TEST_P(Keep, renewing_stops_when_finished_says_so_or_throws) {
  std::atomic<int> asked = 0, threw = 0;
  Client client = new_client();
  const Lease lease =
      short_lease(client, "k", {.ttl = 3s, .renew_every = 50ms, .finished = [&] { return ++asked == 3; }});
  const auto fail = [&]() -> bool { throw ++threw; };
  const Lease other = short_lease(client, "l", {.ttl = 3s, .renew_every = 50ms, .finished = fail});
  ASSERT_TRUE(await([&] { return !lease.held() && !other.held(); }));
  EXPECT_TRUE(asked == 3 && threw == 1) << asked << ", " << threw;
}

TEST_P(Keep, renew_every_sets_the_pace) {
  std::atomic<int> renewed = 0;
  Client client = new_client();
  Lease lease = client.acquire("k", {.ttl = 10s, .renew_every = 20ms});
  lease.on_renewed([&](Instant) { ++renewed; });
  EXPECT_TRUE(await([&] { return renewed >= 3; }));
  lease.release();
}

TEST_P(Keep, an_outage_loses_the_lease_by_its_deadline) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  Lease lease = short_lease(client, "k", {.ttl = 300ms});
  EXPECT_EQ(lost_in(trouble, lease, Fault::Kind::refuse_before).reason, Loss::unreachable);
  EXPECT_THROW(lease.check(), LeaseLost);
  EXPECT_EQ(lease.try_renew().error().code, Errc::lost);
  trouble.end();
}

TEST_P(Keep, a_store_that_hangs_does_not_delay_the_loss) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  Lease lease = short_lease(client, "k", {.ttl = 300ms});
  const Instant before = BootClock::now();
  std::promise<Instant> stopped;
  const std::stop_callback note(lease.stop_token(), [&] { stopped.set_value(BootClock::now()); });
  lost_in(trouble, lease, Fault::Kind::deaf, 10s);
  // The store hangs until before + 10 s; the loss was reported meanwhile.
  EXPECT_LT(stopped.get_future().get(), before + 10s);
  EXPECT_LT(BootClock::now(), before + 10s);
  trouble.end();
}

TEST_P(Keep, a_passing_failure_is_not_a_loss) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  Lease lease = short_lease(client, "k", {.ttl = 6s});
  trouble.set(Fault::Kind::lose_before);
  ASSERT_TRUE(await([&] { return lease.remaining() < 3s; }));  // renewals have failed since 4 s
  trouble.end();
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; }));
  EXPECT_TRUE(lease.held());
}

TEST_P(Keep, jeopardy_is_reported_before_loss_and_ends_with_a_renewal) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  Lease lease = short_lease(client, "k", {.ttl = 9s});
  std::promise<bool> jeopardy;
  lease.on_jeopardy([&] { jeopardy.set_value(lease.held()); });
  trouble.set(Fault::Kind::refuse_before);
  EXPECT_TRUE(jeopardy.get_future().get());
  trouble.end();
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; }));
}

TEST_P(Keep, a_stolen_lease_is_reported_with_its_new_owner) {
  std::atomic<bool> robbed = false;
  Client a = client_that_renews_later(database_->new_client(), robbed);
  Lease lease = a.acquire("k", {.owner = "me", .renew_every = 100ms});
  std::promise<Lost> told;
  lease.on_lost([&](const Lost& lost) { told.set_value(lost); });
  observer_.release("k", {"me"});  // behind its back
  const Lease thief = observer_.acquire("k", {.owner = "thief"});
  robbed = true;
  const Lost lost = told.get_future().get();
  EXPECT_EQ(lost.reason, Loss::stolen);
  EXPECT_NE(lost.detail.find("thief"), std::string::npos);
  EXPECT_TRUE(thief.held());
}

TEST_P(Keep, a_broken_lease_is_reported_with_who_broke_it_and_why) {
  Client client = new_client();
  Lease lease = client.acquire("k", {.renew_every = 100ms});
  std::promise<Lost> told;
  lease.on_lost([&](const Lost& lost) { told.set_value(lost); });
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  const Lost lost = told.get_future().get();
  EXPECT_EQ(lost.reason, Loss::broken);
  EXPECT_NE(lost.detail.find("olga"), std::string::npos);
  EXPECT_NE(lost.detail.find("stuck"), std::string::npos);
}

TEST_P(Keep, a_function_set_after_the_loss_runs_at_once) {
  Client client = new_client();
  Lease lease = short_lease(client, "k", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  std::promise<Lost> told;
  lease.on_lost([&](const Lost& lost) { told.set_value(lost); });
  EXPECT_EQ(told.get_future().get().reason, Loss::unreachable);
}

TEST_P(Keep, a_callback_may_destroy_its_lease_and_the_last_client) {
  std::promise<void> done;
  auto client = std::make_unique<Client>(new_client());
  auto lease = std::make_unique<Lease>(short_lease(*client, "k", {.ttl = 300ms, .keep = false}));
  lease->on_lost([&](const Lost&) {
    lease.reset();
    client.reset();
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
}

TEST_P(Keep, a_stop_callback_may_destroy_its_lease_and_the_last_client) {
  std::promise<void> done;
  auto client = std::make_unique<Client>(new_client());
  auto lease = std::make_unique<Lease>(short_lease(*client, "k", {.ttl = 300ms, .keep = false}));
  const std::stop_callback destroy(lease->stop_token(), [&] {
    lease.reset();
    client.reset();
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
}

TEST_P(Keep, a_slow_stop_callback_is_logged) {
  std::atomic<bool> logged = false;
  Client client = new_client({.log = [&](std::string_view line) {
    if (line.find("stop_callback") != std::string_view::npos) logged = true;
  }});
  EXPECT_TRUE(await([&] {
    const Lease lease = short_lease(client, "k", {.ttl = 300ms, .keep = false});
    const std::stop_callback slow(lease.stop_token(), [] { let_pass(30ms); });
    // If the lease had ended before this line it ran here, where it may be slow: then again.
    return await([&] { return logged.load(); }, lease.remaining() + 2s);
  }));
}

// A store that leaves tidying to others, and what it was asked to take away.
class UntidyStore final : public Store {
 public:
  explicit UntidyStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    auto store = inner_->connect(until);
    if (!store) return store;
    return std::unique_ptr<StoreConnection>(std::make_unique<Untidy>(*std::move(store), tidies));
  }
  std::unique_ptr<StoreAdmin> admin() override { return std::make_unique<Broom>(inner_->admin(), *this); }
  Result<std::shared_ptr<Store>> in(std::string_view table) override { return inner_->in(table); }
  std::string name() const override { return inner_->name(); }
  const std::string& client() const noexcept override { return inner_->client(); }
  int proof_of_life() const override { return inner_->proof_of_life(); }

  std::atomic<int> purges = 0;
  std::atomic<Millis> free_for = 0ms;  // what the last purge was to take
  std::atomic<bool> refuses = false;
  bool tidies = false;
  std::shared_future<void> may_go_on{};  // if there is one, a purge waits for it

 private:
  class Untidy final : public StoreConnection {
   public:
    Untidy(std::unique_ptr<StoreConnection> inner, bool tidies) : inner_(std::move(inner)), tidies_(tidies) {}
    Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
      return inner_->apply(requests, replies, until);
    }
    Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
    Result<Traits> examine(Instant until) override {
      auto traits = inner_->examine(until);
      if (!traits) return traits;
      traits->tidies = tidies_;
      Finding dust{Severity::note, "test.dust", "nobody sweeps here", "sweep"};
      dust.at_open = true;
      traits->findings = {dust};
      return traits;
    }

   private:
    const std::unique_ptr<StoreConnection> inner_;
    const bool tidies_;
  };
  class Broom final : public StoreAdmin {
   public:
    Broom(std::unique_ptr<StoreAdmin> inner, UntidyStore& store) : inner_(std::move(inner)), store_(store) {}
    Result<std::vector<std::string>> plan(Instant until) override { return inner_->plan(until); }
    Result<std::vector<std::string>> init(Instant until) override { return inner_->init(until); }
    std::string statements() const override { return {}; }
    Result<Purged> purge(const Purge& what, Instant until) override {
      store_.free_for = what.free_for;
      ++store_.purges;
      if (store_.may_go_on.valid()) store_.may_go_on.wait();
      if (store_.refuses) return Error{Errc::refused, "only the owner may delete"};
      return inner_->purge(what, until);
    }

   private:
    const std::unique_ptr<StoreAdmin> inner_;
    UntidyStore& store_;
  };

  const std::shared_ptr<Store> inner_;
};

TEST_P(Keep, where_the_store_does_not_tidy_the_keeper_purges_again_and_again) {
  const auto store = std::make_shared<UntidyStore>(database_->new_client());
  Client client(store, {.purge_every = 20ms});
  const Lease lease = client.acquire("k", {.ttl = 1h});
  EXPECT_TRUE(await([&] { return store->purges >= 3; }));
  EXPECT_EQ(store->free_for.load(), 24h) << "what has been free for a day";
  EXPECT_TRUE(lease.held());
}

TEST_P(Keep, nobody_purges_a_store_that_tidies_or_where_it_is_not_wanted) {
  for (const bool tidies : {true, false}) {
    const auto store = std::make_shared<UntidyStore>(database_->new_client());
    store->tidies = tidies;
    std::atomic<int> renewed = 0;
    Client client(store, {.purge_every = tidies ? DurationOr<Never>(1ms) : never});
    Lease lease = client.acquire("k", {.ttl = 30s, .renew_every = 5ms});
    lease.on_renewed([&](Instant) { ++renewed; });
    ASSERT_TRUE(
        await([&] { return renewed >= 10; }));  // the keeper has checked ten times which leases are due
    EXPECT_EQ(store->purges, 0);
  }
}

TEST_P(Keep, a_refused_purge_is_logged_and_harms_no_lease) {
  const auto store = std::make_shared<UntidyStore>(database_->new_client());
  store->refuses = true;
  std::mutex mutex;
  std::vector<std::string> told;
  std::atomic<int> renewed = 0;
  Client client(store, {.purge_every = 20ms, .log = [&](std::string_view line) {
                          const std::lock_guard lock(mutex);
                          told.emplace_back(line);
                        }});
  EXPECT_THAT(told, ::testing::ElementsAre(::testing::EndsWith(
                        "nobody sweeps here; sweep, or accept it with accept=test.dust in the URL")));
  Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 5ms});
  ASSERT_TRUE(await([&] {
    const std::lock_guard lock(mutex);
    return told.size() == 2;
  }));
  EXPECT_NE(told.back().find("only the owner may delete"), std::string::npos) << told.back();
  lease.on_renewed([&](Instant) { ++renewed; });
  ASSERT_TRUE(await([&] { return renewed >= 10; }));  // the keeper has checked ten times which leases are due
  EXPECT_EQ(store->purges, 1) << "who was refused asks no more";
  EXPECT_TRUE(lease.held());
}

TEST_P(Keep, a_purge_that_outlives_its_client_logs_nothing) {
  auto store = std::make_shared<UntidyStore>(database_->new_client());
  store->refuses = true;
  std::promise<void> go;
  store->may_go_on = go.get_future().share();
  std::atomic<int> told = 0;
  {
    Client client(store, {.purge_every = 1ms, .log = [&](std::string_view) { ++told; }});
    told = 0;  // ignore the store's own warning
    const Lease lease = client.acquire("k", {.ttl = 1h});
    ASSERT_TRUE(await([&] { return store->purges == 1; }));
  }
  go.set_value();
  EXPECT_TRUE(await([&] { return store.use_count() == 1; })) << "its thread has ended";
  EXPECT_EQ(told, 0);
}

TEST_P(Keep, a_purge_that_outlives_its_client_keeps_no_other_thread) {
  static std::atomic<bool> ended;
  struct End {
    ~End() { ended = true; }
  };
  ended = false;
  auto store = std::make_shared<UntidyStore>(database_->new_client());
  std::promise<void> go, ran;
  store->may_go_on = go.get_future().share();
  {
    Client client(store, {.purge_every = 1ms});
    Lease lease = client.acquire("k", {.ttl = 1h});
    lease.on_renewed([&](Instant) {
      thread_local const End end;
      (void)end;
      ran.set_value();
    });
    lease.renew();
    ASSERT_TRUE(await([&] { return store->purges == 1; }));
    ran.get_future().wait();
  }
  EXPECT_TRUE(await([] { return ended.load(); })) << "the thread of the callbacks";
  go.set_value();
  EXPECT_TRUE(await([&] { return store.use_count() == 1; }));
}

TEST_P(Keep, an_outage_and_its_end_are_logged_once_each) {
  Trouble trouble;
  std::mutex mutex;
  std::vector<std::string> told;
  std::atomic<int> asked = 0;
  Client client = chosen_client(
      [&, trouble](std::span<const Request>) {
        ++asked;
        return trouble.now();
      },
      {.log = [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        told.emplace_back(line);
      }});
  Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 5ms});
  trouble.set(Fault::Kind::refuse_before);
  const int before = asked;
  ASSERT_TRUE(await([&] { return asked >= before + 5; }));
  trouble.end();
  ASSERT_TRUE(await([&] {
    const std::lock_guard lock(mutex);
    return told.size() >= 2;
  }));
  lease.release();
  const std::lock_guard lock(mutex);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].find("cannot renew the lease on k: "), 0u) << told[0];
  EXPECT_EQ(told[1], "renewing leases works again");
}

HOLDFAST_ON_EVERY_STORE(Keep);

}  // namespace
}  // namespace holdfast::test
