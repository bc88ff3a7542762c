// SPDX-License-Identifier: Apache-2.0
// ls.cpp - `holdfast ls [PREFIX]`: which keys are held or waited for.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/describe.h"
#include "cli/see/store_poller.h"
#include "cli/terminal.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

Words sort_orders() { return {"key", "since", "remaining", "waiting"}; }

constexpr OptionSpec ls_options[] = {
    {"--prefix", "PREFIX", "only keys that start with this; same as the word PREFIX"},
    {"--held", "", "only keys that are held, not free keys with waiters"},
    {"--all", "", "also free keys without waiters"},
    {"--sort", "ORDER",
     "by key, since (held longest first), remaining (ends soonest first) or waiting (most waiters "
     "first)",
     sort_orders},
    {"--watch", "", "repeat until Ctrl-C"},
    interval_option,
};

enum class Sort : std::uint8_t { key, since, remaining, waiting };

struct Ls {
  std::string prefix;
  bool held = false;  // only keys that are held
  bool all = false;   // also free keys without waiters
  Sort sort = Sort::key;
  std::optional<Millis> watch = {};  // repeat at this interval
};

Ls ls_of(const Given& given) {
  constexpr Sort sorts[] = {Sort::key, Sort::since, Sort::remaining, Sort::waiting};
  const Text word = given.word(0), option = given.text("--prefix");
  if (word && option && *word != *option)
    refuse("--prefix " + shown(*option) + " and " + shown(*word) + " differ; give one of them");
  Ls ls{
      .prefix = option.value_or(word.value_or("")), .held = given.flag("--held"), .all = given.flag("--all")};
  if (given.flag("--watch") || given.text("--interval")) ls.watch = interval_of(given);
  if (ls.all && (ls.held || ls.watch))
    refuse("--all cannot be combined with --held or --watch; leave it out");
  if (given.text("--sort")) ls.sort = one_of(given, "--sort", sorts, " is not a sort order");
  return ls;
}

// A row outlives its lease; rows of keys that nobody holds or waits for are not listed.
bool is_wanted(const Ls& command, const LeaseRow& row) {
  return is_held(row) || command.all || (!command.held && row.waiting > 0);
}

// The rows come sorted by key; equal rows stay in that order.
void sort(std::vector<LeaseRow>& rows, Sort by) {
  const auto order = [&](auto before) { std::stable_sort(rows.begin(), rows.end(), before); };
  switch (by) {
    case Sort::key: return;
    case Sort::since:
      return order([](const LeaseRow& a, const LeaseRow& b) {
        return is_held(a) != is_held(b) ? is_held(a) : a.since < b.since;
      });
    case Sort::remaining:
      return order([](const LeaseRow& a, const LeaseRow& b) {
        return is_held(a) != is_held(b) ? is_held(a) : a.remaining < b.remaining;
      });
    case Sort::waiting:
      return order([](const LeaseRow& a, const LeaseRow& b) { return a.waiting > b.waiting; });
  }
}

void select(std::vector<LeaseRow>& rows, const Ls& command) {
  std::erase_if(rows, [&](const LeaseRow& row) { return !is_wanted(command, row); });
  sort(rows, command.sort);
}

Row cells_of(const LeaseRow& row, Moment now) {
  return {row.key.empty() ? "\"\"" : row.key,  // as in the layout of Java's lock
          is_held(row) ? short_owner(row.owner) + (row.detached ? " (detached)" : "") : "-",
          age_of(row, now),
          left_of(row),
          row.waiting == 0 ? "-" : std::to_string(row.waiting),
          row.token == no_token ? "-" : std::to_string(to_number(row.token)),
          row.note};
}

std::string nothing_of(const Ls& command) {
  return "no key" + (command.prefix.empty() ? "" : " that starts with " + shown(command.prefix)) +
         " is held" + (command.held ? "" : " or waited for");
}

// The holder is cut last: half of its name helps less than half of a key.
void fit_terminal(Rows& rows) {
  constexpr std::size_t key = 0, owner = 1, note = 6, short_name = 24, shortest = 8;
  // A character in the last column could wrap.
  const std::size_t columns = size_of_terminal(STDOUT_FILENO).columns - 1;
  fit(rows, {key, owner, note}, columns, short_name);
  fit(rows, {key, note}, columns, shortest);
  fit(rows, {owner}, columns, shortest);
}

// Cells are cut only on a terminal.
std::string table_of(const std::vector<LeaseRow>& leases, bool colour, bool terminal) {
  Rows rows{{"KEY", "HOLDER", "HELD FOR", "REMAINING", "WAITING", "TOKEN", "NOTE"}};
  for (const LeaseRow& row : leases) rows.push_back(cells_of(row, wall_now()));
  if (terminal) fit_terminal(rows);
  return aligned(rows, true, colour);
}

// ---- --watch

std::string heading_of(const Snapshot& snapshot, const std::string& store) {
  std::size_t held = 0, waiting = 0;
  for (const LeaseRow& row : snapshot.leases) {
    if (is_held(row)) ++held;
    waiting += row.waiting;
  }
  return format_wall(snapshot.at) + "  " + printable(store) + "  " + std::to_string(held) + " held, " +
         std::to_string(waiting) + " waiting";
}

std::string text_of(const Snapshot& snapshot, const std::string& store, bool terminal) {
  return heading_of(snapshot, store) +
         (snapshot.leases.empty() ? "" : "\n" + table_of(snapshot.leases, false, terminal));
}

int watch(const Ls& command, const Common& common, FoundStore found_store) {
  StorePoller poller(std::move(found_store), common, command.prefix);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal) count_as_utf8();
  bool first = true;
  return PollLoop(poller, *command.watch).run([&](Snapshot snapshot) -> Status {
    select(snapshot.leases, command);
    if (common.json) return print_now(json_of(snapshot));
    const std::string text = text_of(snapshot, poller.name(), terminal);
    const bool again = !std::exchange(first, false);
    if (terminal) return print_now(in_place(text, size_of_terminal(STDOUT_FILENO), wants_colour(stdout)));
    return print_now(again ? "\n" + text : text);
  });
}

int execute(const Ls& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  if (command.watch) return watch(command, common, *std::move(found_store));
  if (found_store->unused) return exit_ok;
  auto leases = all_leases(found_store->by_hand, command.prefix, command.all ? Free::too : Free::not_listed);
  if (!leases) return fail(leases.error());
  select(*leases, command);
  if (common.json) {
    for (const LeaseRow& row : *leases) print(json_of(row));
    return exit_ok;
  }
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (leases->empty()) {
    complain(nothing_of(command) + " in " + found_store->store->name());
    return exit_ok;
  }
  if (terminal) count_as_utf8();
  print(table_of(*leases, wants_colour(stdout), terminal));
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::ls{
    .name = "ls",
    .usage = "[OPTION]... [PREFIX]",
    .purpose = "List the keys that are held or waited for",
    .options = ls_options,
    .more = R"(  holdfast ls nightly/ --sort since
  holdfast ls --held --watch)",
    .read = reads<ls_of>,
    .other_names = "list",
};

}  // namespace holdfast::cli
