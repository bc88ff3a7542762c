// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

#include <algorithm>

#include "core/deadline.h"

namespace holdfast {

Owner::Owner(std::span<const std::string_view> list) {
  std::string name;
  for (const std::string_view part : list) name += ":" + std::string(part);
  name_ = [name = name.substr(std::min<std::size_t>(name.size(), 1))] { return name; };
}

namespace core {
namespace {

constexpr int most_renewals_until_finished = 10;

// The first that says something.
template <class T>
const T& first(const T& said, const T& otherwise) {
  return said ? said : otherwise;
}

}  // namespace

Terms settle(const AcquireOptions& said, const AcquireOptions& defaults, std::optional<Millis> margin) {
  Terms terms;
  terms.ttl = first(said.ttl, defaults.ttl).value_or(terms.ttl);
  terms.wait = first(said.wait, defaults.wait).value_or(terms.wait);
  terms.stop = said.stop.stop_possible() ? said.stop : defaults.stop;
  if (const Owner& owner = first(said.owner, defaults.owner)) terms.owner = owner();
  terms.note = said.note.empty() ? defaults.note : said.note;
  terms.attempts = first(said.attempts, defaults.attempts).value_or(terms.attempts);
  terms.interval = first(said.interval, defaults.interval);
  terms.fair = first(said.fair, defaults.fair).value_or(terms.fair);
  terms.keep = first(said.keep, defaults.keep).value_or(terms.keep);
  terms.renew_every = first(said.renew_every, defaults.renew_every).value_or(terms.renew_every);
  terms.max_renewals = first(said.max_renewals, defaults.max_renewals);
  terms.finished = first(said.finished, defaults.finished);
  terms.detached = first(said.detached, defaults.detached).value_or(terms.detached);
  // Whoever says that it does not wait is not made to by a schedule of its client.
  if (said.wait == Millis::zero() && !said.attempts) terms.attempts = 0;
  // A default that was made for another ttl, or for those who wait, is not the call's mistake.
  if (!said.renew_every && terms.renew_every >= terms.ttl - margin_of(terms.ttl, margin, Millis::zero()))
    terms.renew_every = Millis::zero();
  if (!said.interval && terms.attempts == 0 && terms.wait == Millis::zero()) terms.interval = {};
  if (terms.finished && !terms.max_renewals) terms.max_renewals = most_renewals_until_finished;
  return terms;
}

}  // namespace core
}  // namespace holdfast
