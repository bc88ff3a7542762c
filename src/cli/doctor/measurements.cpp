// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/measurements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/time.h"

namespace holdfast::cli {
namespace {

constexpr Millis pause_budget(250);

constexpr double tolerated_ppm = 500;
constexpr double vague_ppm = 1000;        // in two seconds, a resolution of 1 ms gives a better value
constexpr Micros least_step = Millis(5);  // no real drift is this large between two samples
constexpr Micros tolerated_offset = std::chrono::seconds(1);

struct Bounds {
  Micros least, most;
};

Micros micros(Instant t) { return std::chrono::floor<Micros>(t.time_since_epoch()); }

// The best estimate of when the store read its clock.
Micros middle_of(const ClockSample& sample) {
  return micros(sample.sent) + (micros(sample.received) - micros(sample.sent)) / 2;
}

// The store's clock minus ours.
Bounds bounds_of(const ClockSample& sample, Micros resolution) {
  return {sample.store - micros(sample.received) - Micros(1),
          sample.store + resolution - micros(sample.sent)};
}

// The least change that the bounds prove; negative: it went back.
Micros sure_change(const Bounds& before, const Bounds& now) {
  if (now.least > before.most) return now.least - before.most;
  if (now.most < before.least) return now.most - before.least;
  return Micros::zero();
}

double ppm(Micros change, Micros in) {
  return 1e6 * static_cast<double>(change.count()) /
         static_cast<double>(std::max(in.count(), std::int64_t{1}));
}

std::string ppm_words(double much) { return std::to_string(std::lround(std::abs(much))) + " ppm"; }

}  // namespace

RoundTrips round_trips_of(std::vector<Micros> all) {
  std::sort(all.begin(), all.end());
  return {.median = all[all.size() / 2], .p99 = all[(all.size() * 99 - 1) / 100]};
}

Millis least_ttl(const RoundTrips& trips) {
  return std::chrono::ceil<Millis>(10 * trips.p99) + 2 * pause_budget;
}

std::optional<Finding> judge(const RoundTrips& trips, Millis ttl) {
  const Millis least = least_ttl(trips);
  if (ttl >= least) return std::nullopt;
  return Finding{Severity::warning, "all.round-trip",
                 "a round trip takes up to " + in_millis(trips.p99) + ": a ttl of " + format_duration(ttl) +
                     " leaves too little time to renew, so leases may be lost although nothing has failed",
                 "use a ttl of " + format_duration(least) + " or more, or a store with faster answers"};
}

std::string in_millis(Micros time) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.1fms", static_cast<double>(time.count()) / 1000);
  return text.data();
}

bool ClockRate::is_meaningful() const noexcept {
  return step == Micros::zero() && (give_or_take_ppm <= vague_ppm || std::abs(drift_ppm) > give_or_take_ppm);
}

std::optional<ClockRate> clock_rate_of(std::span<const ClockSample> samples, Micros resolution) {
  const auto has_no_time = [](const ClockSample& sample) { return sample.store == Micros::zero(); };
  if (samples.size() < 2 || std::any_of(samples.begin(), samples.end(), has_no_time)) return std::nullopt;
  ClockRate rate;
  // Each pair of samples limits the drift; the limits that count are mostly those of the shortest calls.
  double least = -1e6, most = 1e6;
  const auto bounds = [&](std::size_t i) { return bounds_of(samples[i], resolution); };
  for (std::size_t j = 1; j < samples.size(); ++j) {
    if (const Micros step = sure_change(bounds(j - 1), bounds(j)); std::chrono::abs(step) >= least_step)
      rate.step += step;
    for (std::size_t i = 0; i < j; ++i) {
      const Micros in = middle_of(samples[j]) - middle_of(samples[i]);
      least = std::max(least, ppm(bounds(j).least - bounds(i).most, in));
      most = std::min(most, ppm(bounds(j).most - bounds(i).least, in));
    }
  }
  // No single drift fits a clock that changed its rate: report the largest that was seen.
  if (least > most) least = most = (least > -most ? least : most);
  rate.drift_ppm = (least + most) / 2;
  rate.give_or_take_ppm = (most - least) / 2;
  return rate;
}

std::optional<Finding> judge(const ClockRate& rate) {
  constexpr const char* advice = "check the time service (NTP) of the store's machine and of this one";
  if (rate.step != Micros::zero()) {
    return Finding{
        Severity::warning, "all.clock-drift",
        "the store's clock was set " + std::string(rate.step > Micros::zero() ? "forward" : "back") + " by " +
            in_millis(std::chrono::abs(rate.step)) + " during the measurement: leases end that much " +
            (rate.step > Micros::zero() ? "earlier" : "later") + " than their holders expect",
        advice};
  }
  if (std::abs(rate.drift_ppm) - rate.give_or_take_ppm <= tolerated_ppm) return std::nullopt;
  return Finding{Severity::warning, "all.clock-drift",
                 "the store's clock runs " + ppm_words(rate.drift_ppm) +
                     (rate.drift_ppm > 0 ? " faster" : " slower") + " than this host's, give or take " +
                     ppm_words(rate.give_or_take_ppm) + ": leases end " +
                     (rate.drift_ppm > 0 ? "earlier" : "later") + " than their holders expect",
                 advice};
}

ClockOffset clock_offset_of(Moment before, Moment granted, Moment after) {
  return {granted - (before + (after - before) / 2), after - before};
}

std::optional<Finding> judge(const ClockOffset& offset) {
  const Micros surely = std::chrono::abs(offset.offset) - offset.width / 2;
  if (surely < tolerated_offset) return std::nullopt;
  return Finding{Severity::note, "all.clock-offset",
                 "the store's wall clock is " +
                     format_duration(std::chrono::floor<Millis>(std::chrono::abs(offset.offset))) +
                     (offset.offset > Micros::zero() ? " ahead of this host's" : " behind this host's") +
                     ": leases are not affected, but the times that are shown and the due times of jobs are "
                     "those of the store's clock",
                 "correct the clock that is wrong"};
}

}  // namespace holdfast::cli
