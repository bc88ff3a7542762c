// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

namespace holdfast {

Owner::Owner(std::initializer_list<std::string_view> list) {
  std::string name;
  for (const std::string_view part : list) name += (name.empty() ? "" : ":") + std::string(part);
  name_ = [name] { return name; };
}

namespace core {
namespace {

constexpr int most_renewals_until_finished = 10;

// The first that says something.
template <class T>
const T& first(const T& said, const T& otherwise) {
  return said ? said : otherwise;
}

// In time: what is left is enough for a few more tries.
constexpr Millis seventy_percent(Millis ttl) { return ttl / 10 * 7 + ttl % 10 * 7 / 10; }

}  // namespace

Terms settle(const AcquireOptions& said, const AcquireOptions& defaults) {
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
  if (!said.renew_every && terms.renew_every >= terms.ttl) terms.renew_every = Millis::zero();
  if (!said.interval && terms.attempts == 0 && terms.wait == Millis::zero()) terms.interval = {};
  if (terms.finished && !terms.max_renewals) terms.max_renewals = most_renewals_until_finished;
  if (terms.finished && terms.renew_every == Millis::zero() && terms.ttl != never)
    terms.renew_every = seventy_percent(terms.ttl);
  return terms;
}

}  // namespace core
}  // namespace holdfast
