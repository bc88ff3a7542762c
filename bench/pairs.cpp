// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <vector>

#include "base/host.h"
#include "base/random.h"
#include "bench/raw_sqlite.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

constexpr int rounds = 11;
constexpr double slice_seconds = 0.2;

// Runs `pair` for a slice; pairs per second.
template <class F>
double rate(F pair) {
  const Instant start = BootClock::now();
  int count = 0;
  while (seconds_since(start) < slice_seconds) {
    for (int i = 0; i < 50; ++i) pair();
    count += 50;
  }
  return count / seconds_since(start);
}

double rate_of_threads(Client& client, int threads) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const std::string key = "key" + std::to_string(i);
      rates[static_cast<std::size_t>(i)] = rate([&] { client.acquire(key).release(); });
    });
  }
  double sum = 0;
  for (auto& t : running) t.join();
  for (const double r : rates) sum += r;
  return sum;
}

Client open_in(const test::Scratch& folder) { return open("sqlite:" + folder.path() + "/ours.db"); }

}  // namespace

std::vector<Figure> run_pairs() {
  const test::Scratch folder;
  Client client = open_in(folder);
  const auto origin = sqlite::origin({.path = folder.path() + "/ours.db"}).value();
  const auto store = origin->connect(after(BootClock::now(), Millis(5000))).value();
  RawSqlite raw(folder.path() + "/raw.db");
  const std::string holder = holder_name(origin->client() + random_hex(16));
  Token token{};
  const auto seam = [&](const Request& r) {
    Reply reply;
    (void)store->apply({&r, 1}, {&reply, 1}, after(BootClock::now(), Millis(2000)));
    token = reply.token;
  };
  std::vector<double> ours, by_store, by_hand;
  for (int i = 0; i < rounds; ++i) {  // in turns, so that noise hits all alike
    ours.push_back(rate([&] { client.acquire("key").release(); }));
    by_store.push_back(rate([&] {
      seam({.verb = Verb::acquire, .key = {"seam"}, .holder = {holder}, .ttl = Millis(30000)});
      seam({.verb = Verb::release, .key = {"seam"}, .holder = {holder}, .token = token});
    }));
    by_hand.push_back(rate([&] { raw.acquire_and_release("key", holder); }));
  }
  return {
      {"client: acquire + release", "statements by hand", median(ours), median(by_hand), "pairs/s"},
      {"store alone: acquire + release", "statements by hand", median(by_store), median(by_hand), "pairs/s"}};
}

std::vector<Figure> run_threads() {
  const test::Scratch folder;
  Client client = open_in(folder);
  std::vector<double> many, one;
  for (int i = 0; i < 5; ++i) {
    one.push_back(rate_of_threads(client, 1));
    many.push_back(rate_of_threads(client, 64));
  }
  return {{"64 threads, one client", "1 thread", median(many), median(one), "pairs/s"}};
}

std::vector<Figure> run_held() {
  Client client = open("memory:");
  const Lease lease = client.acquire("key");
  constexpr int looks = 1'000'000;
  long sum = 0;
  const Instant start = BootClock::now();
  for (int i = 0; i < looks; ++i) sum += lease.held() ? 1 : 0;
  const double held = seconds_since(start);
  const Instant again = BootClock::now();
  for (int i = 0; i < looks; ++i) sum += BootClock::now() > start ? 1 : 0;
  const double clock = seconds_since(again);
  if (sum != 2L * looks) return {};
  return {{"held()", "BootClock::now()", held / looks * 1e9, clock / looks * 1e9, "ns", false}};
}

}  // namespace holdfast::bench
