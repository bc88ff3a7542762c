// SPDX-License-Identifier: Apache-2.0
// ls.cpp - `holdfast ls [PREFIX]`: which keys are held or waited for.
#include "base/duration.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/store_url.h"
#include "holdfast/client.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t page_size = 1000;

// A row outlives its lease: those that nobody holds or wants are not worth a line.
bool is_live(const LeaseRow& row) { return row.remaining > Millis::zero() || row.waiting > 0; }

Result<std::vector<LeaseRow>> live_leases(Client& client, const std::string& prefix) {
  std::vector<LeaseRow> live;
  std::string after;
  while (true) {
    auto page = client.try_list({.prefix = prefix, .after = after, .limit = page_size});
    if (!page) return std::move(page).error();
    const bool last = page->leases.size() < page_size;
    if (!page->leases.empty()) after = page->leases.back().key;
    for (LeaseRow& row : page->leases) {
      if (is_live(row)) live.push_back(std::move(row));
    }
    if (last) return live;
  }
}

Row cells_of(const LeaseRow& row) {
  const bool held = row.remaining > Millis::zero();
  return {row.key,
          held ? short_holder(row.holder) : "-",
          held ? format_duration(row.remaining) : "-",
          row.waiting == 0 ? "-" : std::to_string(row.waiting),
          std::to_string(number(row.token)),
          row.note};
}

}  // namespace

int execute(const Ls& command, const Common& common) {
  auto client = try_open(store_url(common.store));
  if (!client) return fail(client.error());
  const auto leases = live_leases(*client, command.prefix);
  if (!leases) return fail(leases.error());
  if (common.json) {
    for (const LeaseRow& row : *leases) say(json_of(row));
    return exit_ok;
  }
  if (leases->empty()) return exit_ok;
  Rows rows{{"KEY", "HOLDER", "REMAINING", "WAITING", "TOKEN", "NOTE"}};
  for (const LeaseRow& row : *leases) rows.push_back(cells_of(row));
  say(aligned(rows, true, wants_colour(stdout)));
  return exit_ok;
}

}  // namespace holdfast::cli
