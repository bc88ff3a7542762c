// SPDX-License-Identifier: Apache-2.0
// What the doctor makes of its measurements, and that a store that breaks its promise is caught.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor/measurements.h"
#include "cli/doctor/self_test.h"
#include "holdfast/memory.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr Instant doctor_start{1000s};

// "danger TOPIC"; empty: nothing was found.
std::string severity_of(const std::optional<Finding>& finding) {
  return finding ? std::string(to_string(finding->severity)) + " " + finding->topic : "";
}
std::string what_of(const std::optional<Finding>& finding) { return finding ? finding->what : ""; }

// -- round trips

TEST(DoctorsRoundTrips, the_median_and_the_longest_of_twenty_are_reported) {
  std::vector<Micros> all;
  for (int i = 20; i >= 1; --i) all.push_back(Micros(i * 100));
  EXPECT_EQ(round_trips_of(all).median, 1100us);
  EXPECT_EQ(round_trips_of(all).p99, 2000us);
  EXPECT_EQ(round_trips_of({7us}).p99, 7us);
}

TEST(DoctorsRoundTrips, a_ttl_leaves_time_for_ten_calls_and_two_pauses) {
  const RoundTrips near{.median = 200us, .p99 = 1ms}, far{.median = 80ms, .p99 = 300ms};
  EXPECT_EQ(least_ttl(near), 510ms);
  EXPECT_EQ(least_ttl(far), 3500ms);
  EXPECT_FALSE(judge(near, 30s));
  EXPECT_FALSE(judge(far, 3500ms));
  EXPECT_FALSE(judge(far, Millis(never)));
  const auto finding = judge(far, 3s);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->topic, "all.round-trip");
  EXPECT_EQ(finding->severity, Severity::warning);
  EXPECT_THAT(finding->what, HasSubstr("300.0ms"));
  EXPECT_THAT(finding->advice, HasSubstr("3.5s"));
}

// -- clocks

// Eight samples in two seconds, each of which takes `trip`, of a clock that shows `connection(t)`.
std::vector<ClockSample> samples(Micros trip, const std::function<Micros(Micros)>& connection) {
  std::vector<ClockSample> all;
  for (int i = 0; i < 8; ++i) {
    const Micros at = 2'000'000us * i / 7;
    all.push_back({doctor_start + at, doctor_start + at + trip, 5'000'000us + connection(at + trip / 2)});
  }
  return all;
}

TEST(DoctorsClocks, one_that_runs_as_ours_does_is_not_blamed_however_far_away_it_is) {
  for (const Micros trip : {100us, 30'000us, 400'000us}) {
    const auto rate = clock_rate_of(samples(trip, [](Micros t) { return t; }), 1ms);
    ASSERT_TRUE(rate);
    EXPECT_EQ(rate->step, 0us);
    EXPECT_FALSE(judge(*rate)) << trip.count();
  }
}

TEST(DoctorsClocks, one_whose_answers_are_late_by_chance_is_not_blamed) {
  auto all = samples(100us, [](Micros t) { return t; });
  all[2].received += 900ms;  // we were not let run
  all[5].sent -= 900ms;
  EXPECT_FALSE(judge(clock_rate_of(all, 1ms).value()));
}

TEST(DoctorsClocks, one_that_runs_faster_or_slower_is_a_warning) {
  const struct {
    double rate;
    const char* word;
  } table[] = {{1.003, "faster"}, {0.997, "slower"}};
  for (const auto& row : table) {
    const auto rate = clock_rate_of(
        samples(200us,
                [&](Micros t) { return Micros(std::llround(static_cast<double>(t.count()) * row.rate)); }),
        1ms);
    const auto finding = judge(rate.value());
    ASSERT_TRUE(finding) << row.word;
    EXPECT_EQ(finding->topic, "all.clock-drift");
    EXPECT_EQ(finding->severity, Severity::warning);
    EXPECT_THAT(finding->what,
                MatchesRegex("the store's clock runs (29|30)[0-9]+ ppm " + std::string(row.word) + ".*"));
  }
  // Within what a time service may do.
  EXPECT_FALSE(judge(clock_rate_of(samples(20us, [](Micros t) { return t + t / 2500; }), 0us).value()));
}

TEST(DoctorsClocks, the_uncertainty_is_that_of_the_quickest_answers) {
  auto all = samples(50us, [](Micros t) { return t; });
  all.back().received += 40ms;  // late by chance: the rest knows better
  all.front().sent -= 40ms;
  const auto rate = clock_rate_of(all, 1us).value();
  EXPECT_LE(std::abs(rate.drift_ppm), rate.give_or_take_ppm);
  EXPECT_LT(rate.give_or_take_ppm, 100);
  EXPECT_TRUE(rate.is_meaningful());
  EXPECT_FALSE(clock_rate_of(samples(400ms, [](Micros t) { return t; }), 1us)->is_meaningful());
  EXPECT_FALSE(
      clock_rate_of(samples(50us, [](Micros t) { return t + (t > 1s ? 9s : 0s); }), 1us)->is_meaningful());
}

TEST(DoctorsClocks, one_that_is_set_during_the_measurement_is_a_warning) {
  for (const Micros by : {60s, -60s}) {
    const auto rate =
        clock_rate_of(samples(200us, [&](Micros t) { return t + (t > 1s ? by : 0us); }), 1ms).value();
    EXPECT_NEAR(static_cast<double>(rate.step.count()), static_cast<double>(by.count()), 5'000);
    const auto finding = judge(rate);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->topic, "all.clock-drift");
    EXPECT_THAT(finding->what, HasSubstr(by > 0us ? "set forward by" : "set back by"));
    EXPECT_THAT(finding->what, HasSubstr(by > 0us ? "much earlier" : "much later"));
  }
}

TEST(DoctorsClocks, one_that_reports_no_time_is_not_judged) {
  EXPECT_FALSE(clock_rate_of({}, 1ms));
  const std::vector<ClockSample> silent(8, ClockSample{doctor_start, doctor_start + 1ms, 0us});
  EXPECT_FALSE(clock_rate_of(silent, 1ms));
  auto at_times = samples(100us, [](Micros t) { return t; });
  at_times[3].store = 0us;  // the lease whose time it reports was gone for a moment
  EXPECT_FALSE(clock_rate_of(at_times, 1ms));
}

TEST(DoctorsClocks, another_time_on_the_wall_is_a_note) {
  const Moment before(100s);
  EXPECT_FALSE(judge(clock_offset_of(before, before + 5ms, before + 10ms)));
  EXPECT_FALSE(judge(clock_offset_of(before, before, before + 4s))) << "it may as well be right";
  const auto behind = judge(clock_offset_of(before, before - 60s, before + 10ms));
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->topic, "all.clock-offset");
  EXPECT_EQ(behind->severity, Severity::note);
  EXPECT_THAT(behind->what, HasSubstr("behind this host's"));
  EXPECT_THAT(what_of(judge(clock_offset_of(before, before + 60s, before + 10ms))),
              HasSubstr("ahead of this host's"));
}

// -- the self-test

Grant timed_grant(std::size_t key, std::uint64_t token, Millis from, Millis to) {
  return {.key = key, .token = Token{token}, .from = doctor_start + from, .to = doctor_start + to};
}

TEST(DoctorsSelfTest, grants_that_follow_each_other_have_no_fault) {
  const Faults faults = faults_in(
      {timed_grant(1, 12, 20ms, 30ms), timed_grant(0, 7, 0ms, 90ms), timed_grant(1, 11, 0ms, 20ms)});
  EXPECT_EQ(faults.overlaps + faults.falls + faults.taken, 0u);
}

TEST(DoctorsSelfTest, each_fault_is_counted) {
  EXPECT_EQ(faults_in({timed_grant(0, 1, 0ms, 20ms), timed_grant(0, 2, 19ms, 30ms)}).overlaps, 1u);
  EXPECT_EQ(
      faults_in({timed_grant(0, 1, 0ms, 90ms), timed_grant(0, 2, 10ms, 20ms), timed_grant(0, 3, 30ms, 40ms)})
          .overlaps,
      2u)
      << "one that lasts long overlaps all";
  EXPECT_EQ(faults_in({timed_grant(0, 5, 0ms, 1ms), timed_grant(0, 5, 2ms, 3ms), timed_grant(0, 4, 4ms, 5ms)})
                .falls,
            2u);
  EXPECT_EQ(faults_in({timed_grant(0, 0, 0ms, 1ms), timed_grant(0, 0, 2ms, 3ms)}).falls, 0u)
      << "a layout without tokens";
  Grant vanished = timed_grant(0, 1, 0ms, 1ms);
  vanished.taken = true;
  EXPECT_EQ(faults_in({vanished}).taken, 1u);
}

TEST(DoctorsSelfTest, a_fault_is_a_danger_and_a_failure_a_warning) {
  SelfTest test{
      .grants = {timed_grant(0, 1, 0ms, 1ms)}, .threads = 8, .took = 1s, .failures = 0, .failure = ""};
  EXPECT_FALSE(judge(test));
  test.failures = 2;
  test.failure = "the line is dead";
  EXPECT_EQ(severity_of(judge(test)), "warning all.self-test");
  EXPECT_THAT(what_of(judge(test)), HasSubstr("2 calls of the self-test failed: the line is dead"));
  test.grants.push_back(timed_grant(0, 1, 2ms, 3ms));
  EXPECT_EQ(severity_of(judge(test)), "danger all.self-test");
  EXPECT_EQ(severity_of(judge(SelfTest{})), "warning all.self-test") << "nothing granted at all";
}

// A store that lies in one way.
class Liar final : public StoreConnection {
 public:
  using Lie = std::function<void(const Request&, Reply&)>;
  Liar(std::unique_ptr<StoreConnection> connection, Lie lie)
      : connection_(std::move(connection)), lie_(std::move(lie)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    // Whatever tokens it has given out, it takes back what a holder has.
    std::vector<Request> asked(requests.begin(), requests.end());
    for (Request& request : asked) request.token = no_token;
    Status status = connection_->apply(asked, replies, until);
    // Memory answers at once; so somebody else wants the key while it is held.
    if (requests.front().verb == Verb::renew) test::let_pass(2ms);
    for (std::size_t i = 0; status && i < requests.size(); ++i) lie_(requests[i], replies[i]);
    return status;
  }
  Result<Page> list(const Query& query, Instant until) override { return connection_->list(query, until); }
  Result<Traits> examine(Instant until) override { return connection_->examine(until); }
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override {
    return connection_->listener(until);
  }

 private:
  const std::unique_ptr<StoreConnection> connection_;
  const Lie lie_;
};

// The self-test on such a store.
SelfTest test_on_liar(const Liar::Lie& lie) {
  const auto database = memory::make_database();
  const auto new_client = [&]() -> Result<Client> {
    return Client::try_make(
        test::wrapped(memory::store(database), [&](std::unique_ptr<StoreConnection> connection) {
          return std::make_unique<Liar>(std::move(connection), lie);
        }));
  };
  return test_leases(new_client, {.grants_each = 50, .longest = 20s}).value();
}

TEST(DoctorsSelfTest, an_honest_store_passes_with_all_its_grants) {
  const SelfTest test = test_on_liar([](const Request&, Reply&) {});
  EXPECT_EQ(test.grants.size(), 8u * 50);
  EXPECT_EQ(test.threads, 8u);
  EXPECT_EQ(test.failures, 0u) << test.failure;
  EXPECT_FALSE(judge(test));
}

TEST(DoctorsSelfTest, a_store_that_grants_a_key_twice_is_caught) {
  std::atomic<std::uint64_t> token = 1ull << 60;
  const SelfTest test = test_on_liar([&](const Request& request, Reply& reply) {
    if (request.verb != Verb::acquire || reply.verdict != Verdict::busy) return;
    reply = {
        .verdict = Verdict::granted, .token = Token{++token}, .remaining = request.ttl, .now = reply.now};
  });
  const Faults faults = faults_in(test.grants);
  EXPECT_GT(faults.overlaps, 0u);
  EXPECT_GT(faults.taken, 0u);
  EXPECT_EQ(severity_of(judge(test)), "danger all.self-test");
}

TEST(DoctorsSelfTest, a_store_whose_tokens_stand_still_is_caught) {
  const SelfTest test = test_on_liar([](const Request&, Reply& reply) {
    if (reply.verdict == Verdict::granted) reply.token = Token{7};
  });
  EXPECT_GT(faults_in(test.grants).falls, 0u);
  EXPECT_EQ(severity_of(judge(test)), "danger all.self-test");
}

TEST(DoctorsSelfTest, a_store_that_forgets_a_lease_is_caught) {
  const SelfTest test = test_on_liar([](const Request& request, Reply& reply) {
    if (request.verb == Verb::release && reply.verdict == Verdict::released)
      reply = {.verdict = Verdict::lost, .now = reply.now};
  });
  EXPECT_GT(faults_in(test.grants).taken, 0u);
  EXPECT_EQ(severity_of(judge(test)), "danger all.self-test");
}

// So far away that each call takes `trip`, and what would come too late does not come.
class Far final : public StoreConnection {
 public:
  Far(std::unique_ptr<StoreConnection> connection, Millis trip)
      : connection_(std::move(connection)), trip_(trip) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    test::let_pass(trip_);
    if (BootClock::now() > until) return Error{Errc::unavailable, "no answer in time"};
    return connection_->apply(requests, replies, until);
  }
  Result<Page> list(const Query& query, Instant until) override { return connection_->list(query, until); }
  Result<Traits> examine(Instant until) override { return connection_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> connection_;
  const Millis trip_;
};

TEST(DoctorsSelfTest, the_end_of_its_own_time_is_no_failure_of_the_store) {
  const auto database = memory::make_database();
  const auto new_client = [&]() -> Result<Client> {
    return Client::try_make(
        test::wrapped(memory::store(database), [](std::unique_ptr<StoreConnection> connection) {
          return std::make_unique<Far>(std::move(connection), 100ms);
        }));
  };
  for (const Millis longest : {0ms, 50ms}) {
    const SelfTest test = test_leases(new_client, {.longest = longest}).value();
    EXPECT_EQ(test.failures, 0u) << test.failure;
    EXPECT_FALSE(test.grants.empty()) << "each thread tries once at least";
  }
}

// -- memory, which only the library has

TEST(DoctorsMemory, it_says_that_it_is_one_processs_only) {
  const auto store = memory::store(memory::make_database());
  const auto diagnosis = store->admin()->diagnose(BootClock::now() + 5s).value();
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(severity_of(diagnosis.findings.front()), "danger memory.process");
  EXPECT_EQ(diagnosis.grade, Grade::D);
}

}  // namespace
}  // namespace holdfast::cli
