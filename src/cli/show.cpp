// SPDX-License-Identifier: Apache-2.0
// show.cpp - `holdfast show KEY`: all that the store knows about a key.
#include "base/duration.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/look.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

std::string remaining_of(const LeaseRow& row) {
  if (row.remaining == never) return "without end";
  return "for another " + format_duration(row.remaining) +
         (row.detached ? ", detached: nobody renews it" : ", unless renewed");
}

std::string since_of(const LeaseRow& row) {
  if (row.since == Micros::zero()) return "unknown";
  // The wall clock of whoever looks may be another than the store's.
  const Micros age = wall_now() - row.since;
  return format_wall(row.since) +
         (age < Micros::zero() ? "" : ", " + format_duration(std::chrono::floor<Millis>(age)) + " ago");
}

std::string event_of(const LogRow& row) {
  return row.event + (row.by.empty() ? "" : " by " + short_holder(row.by)) +
         (row.reason.empty() ? "" : ": " + row.reason) + " (was held by " + short_holder(row.holder) + ")";
}

Rows rows_of(const Inspection& found) {
  const LeaseRow& lease = found.lease;
  const bool held = lease.remaining > Millis::zero();
  Rows rows{{"key", lease.key}};
  if (held)
    rows.push_back({"held by", lease.holder});
  else
    rows.push_back({"free", lease.holder.empty() ? "nobody holds it"
                                                 : "it ran out; the last holder was " + lease.holder});
  if (held) rows.push_back({"since", since_of(lease)});
  if (held) rows.push_back({"lasts", remaining_of(lease)});
  if (lease.token != no_token)
    rows.push_back({held ? "token" : "last token", std::to_string(number(lease.token))});
  else if (held)
    rows.push_back({"token", "none: another program holds it"});
  if (!lease.note.empty()) rows.push_back({"note", lease.note});
  for (std::size_t i = 0; i < found.places.size(); ++i)
    rows.push_back({"waiting " + std::to_string(i + 1), short_holder(found.places[i].holder)});
  for (const LogRow& row : found.log) rows.push_back({format_wall(row.at), event_of(row)});
  return rows;
}

}  // namespace

int execute(const Show& command, const Common& common) {
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  Result<Inspection> found = Inspection{};
  if (looked->unused)
    found->lease.key = command.key;
  else
    found = looked->by_hand.try_inspect(command.key);
  if (!found) return fail(found.error());
  say(common.json ? json_of(*found) : aligned(rows_of(*found), false, false));
  return exit_ok;
}

}  // namespace holdfast::cli
