// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

#include <algorithm>

#include "core/timing.h"

namespace holdfast {

Owner::Owner(std::span<const std::string_view> list) {
  std::string name;
  for (const std::string_view word : list) name += ":" + std::string(word);
  name_ = [name = name.substr(std::min<std::size_t>(name.size(), 1))] { return name; };
}

namespace core {
namespace {

constexpr int most_renewals_until_finished = 10;

// The first of the two that is set.
template <class T>
const T& first(const T& given, const T& otherwise) {
  return given ? given : otherwise;
}

}  // namespace

Terms settle(const AcquireOptions& given, const AcquireOptions& defaults, std::optional<Millis> margin) {
  Terms terms;
  terms.ttl = first(given.ttl, defaults.ttl).value_or(terms.ttl);
  terms.wait = first(given.wait, defaults.wait).value_or(terms.wait);
  terms.stop = given.stop.stop_possible() ? given.stop : defaults.stop;
  if (const Owner& owner = first(given.owner, defaults.owner)) terms.owner = owner();
  terms.note = given.note.empty() ? defaults.note : given.note;
  terms.attempts = first(given.attempts, defaults.attempts).value_or(terms.attempts);
  terms.interval = first(given.interval, defaults.interval);
  terms.fair = first(given.fair, defaults.fair).value_or(terms.fair);
  terms.keep = first(given.keep, defaults.keep).value_or(terms.keep);
  terms.renew_every = first(given.renew_every, defaults.renew_every).value_or(terms.renew_every);
  terms.max_renewals = first(given.max_renewals, defaults.max_renewals);
  terms.finished = first(given.finished, defaults.finished);
  terms.detached = first(given.detached, defaults.detached).value_or(terms.detached);
  // A call with wait = 0 does not wait, also if the client's defaults have a number of attempts.
  if (given.wait == Millis::zero() && !given.attempts) terms.attempts = 0;
  // Defaults that do not fit this call's ttl or wait are dropped; only the call's own options can be errors.
  if (!given.renew_every && terms.renew_every >= terms.ttl - margin_of(terms.ttl, margin, Millis::zero()))
    terms.renew_every = Millis::zero();
  if (!given.interval && terms.attempts == 0 && terms.wait == Millis::zero()) terms.interval = {};
  if (terms.finished && !terms.max_renewals) terms.max_renewals = most_renewals_until_finished;
  return terms;
}

}  // namespace core
}  // namespace holdfast
