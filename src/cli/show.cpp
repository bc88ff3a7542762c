// SPDX-License-Identifier: Apache-2.0
// show.cpp - `holdfast show KEY`: all that the store knows about a key.
#include "base/duration.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/store_url.h"
#include "holdfast/client.h"

namespace holdfast::cli {
namespace {

std::string remaining_of(const LeaseRow& row) {
  return row.remaining == never ? "without end" : "for another " + format_duration(row.remaining);
}

std::string event_of(const LogRow& row) {
  return row.event + " from " + short_holder(row.holder) +
         (row.by.empty() ? "" : " by " + short_holder(row.by)) +
         (row.reason.empty() ? "" : ": " + row.reason);
}

Rows rows_of(const LeaseRow& lease, const std::vector<PlaceRow>& places, const std::vector<LogRow>& log) {
  const bool held = lease.remaining > Millis::zero();
  Rows rows{{"key", lease.key}};
  if (held)
    rows.push_back({"held by", lease.holder});
  else
    rows.push_back({"free", lease.holder.empty() ? "nobody holds it"
                                                 : "it ran out; the last holder was " + lease.holder});
  if (held) rows.push_back({"since", format_wall(lease.since)});
  if (held)
    rows.push_back({"lasts", remaining_of(lease) +
                                 (lease.detached ? ", detached: nobody renews it" : ", unless renewed")});
  if (lease.token != no_token)
    rows.push_back({held ? "token" : "last token", std::to_string(number(lease.token))});
  if (!lease.note.empty()) rows.push_back({"note", lease.note});
  for (std::size_t i = 0; i < places.size(); ++i)
    rows.push_back({"waiting " + std::to_string(i + 1), "client " + places[i].client});
  for (const LogRow& row : log) rows.push_back({format_wall(row.at), event_of(row)});
  return rows;
}

}  // namespace

int execute(const Show& command, const Common& common) {
  auto client = try_open(store_url(common.store));
  if (!client) return fail(client.error());
  Page found;
  for (const Query::What what : {Query::What::leases, Query::What::places, Query::What::log}) {
    auto page = client->try_list({.what = what, .prefix = command.key, .exact = true});
    if (!page) return fail(page.error());
    if (what == Query::What::leases) found.leases = std::move(page->leases);
    if (what == Query::What::places) found.places = std::move(page->places);
    if (what == Query::What::log) found.log = std::move(page->log);
  }
  LeaseRow lease = found.leases.empty() ? LeaseRow{} : std::move(found.leases.front());
  lease.key = command.key;
  if (common.json)
    say(json_of(lease, found.places, found.log));
  else
    say(aligned(rows_of(lease, found.places, found.log), false, false));
  return exit_ok;
}

}  // namespace holdfast::cli
