// SPDX-License-Identifier: Apache-2.0
// Traps that lock libraries fell into (STYLE.md), each as: there X happens, here Y.  docs/parity.md names the
// test of each; those that are not here were tests before it was written.
#include <filesystem>
#include <future>

#include "tests/defects/suite.h"

namespace holdfast::test {
namespace {

class Traps : public AsTheAncestors {};

TEST_P(Traps, there_the_ttl_counts_from_the_answer_here_from_the_send) {
  std::atomic<Instant::rep> reached = 0;  // when the last request came to the store: after it was sent
  Client client = chosen_client(
      [&](std::span<const Request>) {
        reached = BootClock::now().time_since_epoch().count();
        return Fault{Fault::Kind::hang_after, 50ms};
      },
      {.margin = 0ms});
  const auto latest = [&] { return Instant(Instant::duration(reached)) + 1min; };
  Lease lease = short_lease(client, "k", {.ttl = 1min, .keep = false});
  EXPECT_LE(lease.deadline(), latest());
  ASSERT_TRUE(await([&] { return lease.try_renew().has_value(); }));
  EXPECT_LE(lease.deadline(), latest());
}

// Returns a given reply to every request of one verb.
class ScriptedConnection final : public StoreConnection {
 public:
  using Answer = std::function<std::optional<Result<Verdict>>(Verb)>;
  ScriptedConnection(std::unique_ptr<StoreConnection> inner, Answer answer)
      : inner_(std::move(inner)), answer_(std::move(answer)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    Status status = inner_->apply(requests, replies, until);
    for (std::size_t i = 0; i < requests.size() && status; ++i) {
      const auto scripted = answer_(requests[i].verb);
      if (scripted && !*scripted) return scripted->error();
      if (scripted) replies[i].verdict = **scripted;
    }
    return status;
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
  const Answer answer_;
};

TEST_P(Traps, there_a_missing_else_means_success_here_only_a_grant_does) {
  std::mutex mutex;  // the keeper asks too
  std::optional<Verb> verb;
  Result<Verdict> scripted = Verdict::busy;
  Client client(wrapped(database_->new_client(), [&](std::unique_ptr<StoreConnection> connection) {
    return std::make_unique<ScriptedConnection>(std::move(connection), [&](Verb asked) {
      const std::lock_guard lock(mutex);
      return asked == verb ? std::optional(scripted) : std::nullopt;
    });
  }));
  const auto say = [&](std::optional<Verb> to, Result<Verdict> what) {
    const std::lock_guard lock(mutex);
    verb = to;
    scripted = std::move(what);
  };
  const auto fails = [&](const Result<Verdict>& what, const std::string& key) {
    SCOPED_TRACE(key);
    Lease lease = client.acquire(key, {.ttl = 1h});
    say(Verb::renew, what);
    EXPECT_FALSE(client.try_renew(key, {lease.owner()}, 1h));
    EXPECT_FALSE(lease.try_renew());
    EXPECT_FALSE(lease.try_extend_by(1h));
    say(Verb::acquire, what);
    EXPECT_FALSE(client.try_acquire("acquire " + key, {.ttl = 300ms}));
    EXPECT_FALSE(client.try_acquire("wait " + key, {.ttl = 300ms, .wait = 10ms}));
    Lock lock(client, "lock " + key, {.ttl = 300ms});
    bool locked = false, ran = false;
    try {
      locked = lock.try_lock();
      (void)client.try_run("run " + key, {.ttl = 300ms}, [&] { ran = true; });
    } catch (const Failure&) {
      // A store that is broken is not busy.
    }
    EXPECT_FALSE(locked);
    EXPECT_FALSE(ran);
    say({}, what);
  };
  for (const Verdict verdict : {Verdict::released, Verdict::busy, Verdict::lost}) {
    fails(verdict, "verdict " + std::to_string(static_cast<int>(verdict)));
  }
  for (const Errc code : {Errc::unavailable, Errc::in_doubt, Errc::refused, Errc::invalid}) {
    fails(Error{code, "planted"}, to_string(code));
  }
}

// A request names each of its texts, and neither is taken for the other.
template <class K, class H>
concept Askable = requires(K key, H owner) {
  Request{.verb = Verb::renew, .key = key, .owner = owner};
};
template <class K, class T, class W>
concept Breakable = requires(Admin& by_hand, K key, T token, W why) {
  by_hand.try_break_lease(key, token, why);
};

TEST(Words, there_two_strings_are_swapped_here_they_do_not_compile) {
  using Text = std::string_view;
  static_assert(Askable<Key, OwnerView>);
  static_assert(!Askable<OwnerView, Key> && !Askable<Key, Key> && !Askable<OwnerView, OwnerView>);
  static_assert(Breakable<Text, Token, Break>);
  static_assert(!Breakable<Token, Text, Break> && !Breakable<Text, Text, Break>);
  static_assert(!Breakable<Text, Token, Text> && !Breakable<Text, std::uint64_t, Break>);
  static_assert(!std::is_invocable_v<decltype(&Client::try_acquire), Client&, Text, Text>);
  using Release = decltype(&Client::try_release);
  static_assert(std::is_invocable_v<Release, Client&, Text, OwnerView>);
  static_assert(!std::is_invocable_v<Release, Client&, OwnerView, Text> &&
                !std::is_invocable_v<Release, Client&, Text, Text>);
  static_assert(!std::is_invocable_v<decltype(&Client::try_renew), Client&, Text, Text, Millis>);
}

TEST_P(Traps, there_a_destructor_throws_or_hangs_here_it_does_neither) {
  static_assert(std::is_nothrow_destructible_v<Lease> && std::is_nothrow_destructible_v<Client>);
  static_assert(std::is_nothrow_destructible_v<Lock> && std::is_nothrow_destructible_v<Admin>);
  using Kind = Fault::Kind;
  for (const Kind kind : {Kind::refuse_before, Kind::lose_before, Kind::lose_after, Kind::hang_before}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Trouble trouble;
    auto client = std::make_unique<Client>(troubled_client(trouble));
    auto lease = std::make_unique<Lease>(client->acquire("k" + std::to_string(static_cast<int>(kind))));
    trouble.set(kind, 1h);
    auto gone = std::async(std::launch::async, [&] {
      lease.reset();
      client.reset();
    });
    EXPECT_EQ(gone.wait_for(20s), std::future_status::ready);
    trouble.end();
  }
}

TEST_P(Traps, there_every_lock_has_a_thread_here_a_hundred_have_as_many_as_one) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  Client client = new_client({.purge_every = never});
  std::vector<Lease> leases;
  const auto acquire_and_see_renewed = [&] {
    leases.push_back(client.acquire("k" + std::to_string(leases.size()), {.ttl = 1h, .renew_every = 20ms}));
    const Instant deadline = leases.back().deadline();
    EXPECT_TRUE(await([&] { return leases.back().deadline() > deadline; }));
  };
  acquire_and_see_renewed();
  const auto for_one = threads();
  while (leases.size() < 99) {
    leases.push_back(client.acquire("k" + std::to_string(leases.size()), {.ttl = 1h, .renew_every = 20ms}));
  }
  acquire_and_see_renewed();
  EXPECT_EQ(threads(), for_one);
}

TEST_P(Traps, there_waiters_poll_a_thousand_times_a_second_here_a_few) {
  const Lease lease = observer_.acquire("k", {.ttl = 1h});
  for (const bool fair : {true, false}) {
    SCOPED_TRACE(fair ? "fair" : "unfair");
    Counts counts;
    Client client = counted_client(counts);
    EXPECT_EQ(client.try_acquire("k", {.wait = 1500ms, .fair = fair}).error().code, Errc::timeout);
    EXPECT_GE(counts.requests, 2u) << "it does look";
    EXPECT_LT(counts.requests, 40u);
  }
  // Threads of one client are one waiter.
  Counts counts;
  Client client = counted_client(counts);
  std::stop_source stop;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] { (void)client.try_acquire("k", {.wait = 1min, .stop = stop.get_token()}); });
  }
  EXPECT_TRUE(await([&] { return waiting("k") == 1; }));
  let_pass(400ms);
  EXPECT_LT(counts.requests, 20u);
  stop.request_stop();
}

HOLDFAST_ON_EVERY_STORE(Traps);

}  // namespace
}  // namespace holdfast::test
