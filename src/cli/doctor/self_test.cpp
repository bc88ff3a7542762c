// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/self_test.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace holdfast::cli {
namespace {

constexpr Millis ttl(10'000);  // longer than the test, so that no lease expires even on a slow machine

class Trial {
 public:
  Trial(const SelfTestPlan& plan, Instant end) : plan_(plan), end_(end) {}

  void work(Client client, std::size_t thread) {
    std::vector<Grant> grants;
    // Each thread tries at least once, even if it first runs after the end.
    for (std::size_t i = 0; grants.size() < plan_.grants_each && (i == 0 || BootClock::now() < end_); ++i) {
      if (!take(client, (thread + i) % plan_.keys, grants)) break;
    }
    const std::lock_guard lock(mutex_);
    test_.grants.insert(test_.grants.end(), grants.begin(), grants.end());
  }

  SelfTest result() && { return std::move(test_); }

 private:
  // False if the thread must stop.
  bool take(Client& client, std::size_t key, std::vector<Grant>& grants) {
    const Millis left = std::max(std::chrono::ceil<Millis>(end_ - BootClock::now()), Millis::zero());
    auto lease = client.try_acquire(doctors_key + ("/" + std::to_string(key + 1)),
                                    {.ttl = ttl, .wait = left, .keep = false});
    if (!lease) return lease.error().busy() || note(lease.error());
    Grant grant{.key = key, .token = lease->token(), .from = BootClock::now()};
    // A call in between, so that there is time for another holder to appear.
    const Status renewed = lease->try_renew();
    const Instant now = BootClock::now(), deadline = lease->deadline();
    grant.to = std::min(now, deadline);
    grant.taken = was_taken(lease->lost().reason);
    const auto released = lease->try_release();
    if (released && *released != Released::released && now < deadline) grant.taken = true;
    grants.push_back(grant);
    if (!renewed && !grant.taken) return note(renewed.error());
    return released.has_value() || note(released.error());
  }

  static bool was_taken(Loss loss) { return loss == Loss::stolen || loss == Loss::gone; }

  bool note(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (test_.failures++ == 0) test_.failure = error.detail;
    return false;
  }

  const SelfTestPlan plan_;
  const Instant end_;
  std::mutex mutex_;
  SelfTest test_;
};

std::string count(std::size_t number, const char* of) {
  return std::to_string(number) + " " + of + (number == 1 ? "" : "s");
}

}  // namespace

Faults faults_in(std::vector<Grant> grants) {
  Faults faults;
  std::sort(grants.begin(), grants.end(),
            [](const Grant& a, const Grant& b) { return a.key != b.key ? a.key < b.key : a.from < b.from; });
  const Grant* longest = nullptr;  // the grant of this key that was valid the longest
  const Grant* last = nullptr;     // the grant before
  for (const Grant& grant : grants) {
    if (last != nullptr && last->key != grant.key) longest = last = nullptr;
    if (longest != nullptr && grant.from < longest->to) ++faults.overlaps;
    if (last != nullptr && grant.token != no_token && to_number(grant.token) <= to_number(last->token))
      ++faults.falls;
    faults.taken += static_cast<std::size_t>(grant.taken);
    if (longest == nullptr || grant.to > longest->to) longest = &grant;
    last = &grant;
  }
  return faults;
}

Result<SelfTest> test_leases(const std::function<Result<Client>()>& new_client, const SelfTestPlan& plan) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < plan.clients; ++i) {
    auto client = new_client();
    if (!client) return std::move(client).error();
    clients.push_back(*std::move(client));
  }
  // Threads of one client have neighbouring numbers, so that threads that want the same key have different
  // clients.
  const Instant began = BootClock::now();
  Trial trial(plan, clamped_add(began, plan.longest));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < plan.clients * plan.threads_each; ++i)
      threads.emplace_back([&, i] { trial.work(clients[i / plan.threads_each], i); });
  }
  SelfTest test = std::move(trial).result();
  test.threads = plan.clients * plan.threads_each;
  test.took = std::chrono::ceil<Millis>(BootClock::now() - began);
  return test;
}

std::optional<Finding> judge(const SelfTest& test) {
  const Faults faults = faults_in(test.grants);
  if (faults.overlaps + faults.falls + faults.taken > 0) {
    return Finding{Severity::danger, "all.self-test",
                   "this store does not keep leases: of " + count(test.grants.size(), "grant") +
                       " of scratch keys, " + std::to_string(faults.overlaps) + " overlapped another, " +
                       std::to_string(faults.falls) + " had a token that did not rise, " +
                       std::to_string(faults.taken) + " were lost before they expired",
                   "use another store, and report this as a bug"};
  }
  if (test.failures > 0) {
    return Finding{Severity::warning, "all.self-test",
                   count(test.failures, "call") + " of the self-test failed: " + printable(test.failure),
                   "check the store and the network to it"};
  }
  if (!test.grants.empty()) return std::nullopt;
  return Finding{Severity::warning, "all.self-test",
                 "the self-test was granted no key in " + std::to_string(test.took.count()) +
                     "ms: somebody else holds " + doctors_key + "/1 and the like, or the store is very slow",
                 "list them with `holdfast ls " + std::string(doctors_key) + "`"};
}

}  // namespace holdfast::cli
