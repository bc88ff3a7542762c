// SPDX-License-Identifier: Apache-2.0
// ls.cpp - `holdfast ls [PREFIX]`: which keys are held or waited for.
#include <unistd.h>

#include <algorithm>

#include "base/duration.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/look.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t page_size = 1000;

bool is_held(const LeaseRow& row) { return row.remaining > Millis::zero(); }

// A row outlives its lease: those that nobody holds or wants are not worth a line.
bool is_wanted(const Ls& command, const LeaseRow& row) {
  return is_held(row) || (!command.held && row.waiting > 0);
}

Result<std::vector<LeaseRow>> wanted_leases(Operator& store, const Ls& command) {
  std::vector<LeaseRow> wanted;
  std::string after;
  while (true) {
    auto page = store.try_list({.prefix = command.prefix, .after = after, .limit = page_size});
    if (!page) return std::move(page).error();
    const bool last = page->leases.size() < page_size;
    if (!page->leases.empty()) after = page->leases.back().key;
    for (LeaseRow& row : page->leases) {
      if (is_wanted(command, row)) wanted.push_back(std::move(row));
    }
    if (last) return wanted;
  }
}

// They come in the order of their keys, which stays the order among equals.
void sort(std::vector<LeaseRow>& rows, Ls::Sort by) {
  const auto order = [&](auto before) { std::stable_sort(rows.begin(), rows.end(), before); };
  switch (by) {
    case Ls::Sort::key: return;
    case Ls::Sort::since:
      return order([](const LeaseRow& a, const LeaseRow& b) {
        return is_held(a) != is_held(b) ? is_held(a) : a.since < b.since;
      });
    case Ls::Sort::remaining:
      return order([](const LeaseRow& a, const LeaseRow& b) {
        return is_held(a) != is_held(b) ? is_held(a) : a.remaining < b.remaining;
      });
    case Ls::Sort::waiting:
      return order([](const LeaseRow& a, const LeaseRow& b) { return a.waiting > b.waiting; });
  }
}

// The wall clock of whoever looks may be another than the store's.
std::string age_of(const LeaseRow& row, Micros now) {
  return format_duration(std::chrono::floor<Millis>(std::max(now - row.since, Micros::zero())));
}

std::string left_of(const LeaseRow& row) {
  return row.remaining == never ? "no end" : format_duration(row.remaining);
}

Row cells_of(const LeaseRow& row, Micros now) {
  const bool held = is_held(row);
  return {row.key,
          held ? short_holder(row.holder) + (row.detached ? " (detached)" : "") : "-",
          held && row.since > Micros::zero() ? age_of(row, now) : "-",
          held ? left_of(row) : "-",
          row.waiting == 0 ? "-" : std::to_string(row.waiting),
          row.token == no_token ? "-" : std::to_string(number(row.token)),
          row.note};
}

}  // namespace

int execute(const Ls& command, const Common& common) {
  auto looked = look_at_store(common);
  if (!looked) return fail(looked.error());
  if (looked->unused) return exit_ok;
  auto leases = wanted_leases(looked->by_hand, command);
  if (!leases) return fail(leases.error());
  sort(*leases, command.sort);
  if (common.json) {
    for (const LeaseRow& row : *leases) say(json_of(row));
    return exit_ok;
  }
  if (leases->empty()) {
    if (::isatty(STDOUT_FILENO) == 1) complain("nobody holds or waits for anything in " + common.store);
    return exit_ok;
  }
  Rows rows{{"KEY", "HOLDER", "HELD FOR", "REMAINING", "WAITING", "TOKEN", "NOTE"}};
  for (const LeaseRow& row : *leases) rows.push_back(cells_of(row, wall_now()));
  say(aligned(rows, true, wants_colour(stdout)));
  return exit_ok;
}

}  // namespace holdfast::cli
