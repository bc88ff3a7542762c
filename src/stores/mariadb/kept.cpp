// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/kept.h"

#include <algorithm>

#include "core/row.h"

namespace holdfast::mariadb {
namespace {

using core::Outcome;
using core::Place;
using core::Record;

enum : std::size_t { rows, queue, state };

}  // namespace

bool has_state(std::span<const Answer> answers) { return !answers[state].is_null(0, 1); }

Seen seen_in(std::span<const Answer> answers, const std::vector<std::string_view>& asked, bool collated) {
  Seen seen;
  for (const std::string_view key : asked) seen.keys.try_emplace(std::string(key));
  const auto kept = [&](const Answer& a, std::size_t i) -> Kept& {
    return seen.keys.find(collated ? asked.front() : a.text(i, 0))->second;
  };
  for (std::size_t i = 0; i < answers[rows].rows.size(); ++i) {
    const Answer& a = answers[rows];
    Kept& k = kept(a, i);
    k.known = true;
    k.record.owner = a.text(i, 1);
    k.record.since = a.moment(i, 2).value_or(Micros::zero());
    k.record.end = a.moment(i, 3);
    k.record.token = Token{static_cast<std::uint64_t>(a.number(i, 4))};
  }
  for (std::size_t i = 0; i < answers[queue].rows.size(); ++i) {
    const Answer& a = answers[queue];
    Kept& k = kept(a, i);
    k.record.queue.push_back({.client = std::string(a.text(i, 1)),
                              .owner = std::string(a.text(i, 2)),
                              .until = Micros(a.number(i, 3))});
    k.tickets.emplace(a.text(i, 1), a.number(i, 4));
    k.last_ticket = std::max(k.last_ticket, a.number(i, 4));
  }
  const Micros now(answers[state].number(0, 0));
  seen.moment = {
      .now = now, .wall = now, .purged = Token{static_cast<std::uint64_t>(answers[state].number(0, 1))}};
  return seen;
}

void write(Writes& writes, const Request& r, const Kept& before, const Record& record, const Outcome& outcome,
           std::string_view client, Micros now) {
  const std::string_view key = r.key.text;
  const bool granted = outcome.changed && record.token != before.record.token;
  if (outcome.changed) writes.lease(key, record, before.known);
  // It was never there, or an acquire that was given up is making it just now: then this waits for that.
  else if (!before.known && core::gives_back(r))
    writes.lease(key, {.end = now}, false);
  if (granted && (record.detached || !record.note.empty())) writes.facts(key, record);
  if (outcome.log) writes.log(*outcome.log);
  if (granted && !before.tickets.empty())
    writes.no_old_places(key, client, now, core::latest_place_end(r, now));
  else if (outcome.place == Outcome::Place::left)
    writes.no_place(key, client);
  if (outcome.place != Outcome::Place::kept) return;
  const auto ours = std::find_if(record.queue.begin(), record.queue.end(),
                                 [&](const Place& p) { return p.client == client; });
  const auto old = std::find_if(before.record.queue.begin(), before.record.queue.end(),
                                [&](const Place& p) { return p.client == client && p.until > now; });
  writes.place(
      key, *ours,
      old != before.record.queue.end() ? before.tickets.find(client)->second : before.last_ticket + 1);
}

// A subquery with two rows ends the text: the last of all, because an INSERT may have waited for somebody.
std::string commit_unless_late(const Tables& tables, std::int64_t void_after) {
  return tables.expand("SELECT IF({now_us} <= " + std::to_string(void_after) +
                       ", 1, (SELECT 1 UNION ALL SELECT 2));\nCOMMIT;SET wait_timeout = DEFAULT;");
}

}  // namespace holdfast::mariadb
