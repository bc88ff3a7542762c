// SPDX-License-Identifier: Apache-2.0
#include "cli/see/store_poller.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/process.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace holdfast::cli {
namespace {

// Large, because a store may have to read and sort all keys for each page.
constexpr std::size_t page_size = 50'000;

constexpr std::size_t first_page = 100, largest_page = 100'000;

std::string identity_of(const LogRow& row) {
  std::string all =
      std::to_string(row.at.time_since_epoch().count()) + ' ' + std::to_string(to_number(row.token));
  for (const std::string* text : {&row.event, &row.key, &row.owner, &row.by, &row.reason})
    all += '\0' + *text;
  return all;
}

Error never_used() { return {Errc::lost, "nobody has used this store yet"}; }

}  // namespace

Result<std::vector<LeaseRow>> all_leases(Admin& store, const std::string& prefix, Free free) {
  std::vector<LeaseRow> all;
  while (true) {
    const std::string after = all.empty() ? "" : all.back().key;
    auto page =
        store.try_list({.prefix = prefix, .after = after, .free = free == Free::too, .limit = page_size});
    if (!page) return std::move(page).error();
    const bool last = page->leases.size() < page_size;
    for (LeaseRow& row : page->leases) all.push_back(std::move(row));
    if (last) return all;
  }
}

Result<std::vector<LogRow>> LogCursor::next(const Read& read) {
  std::vector<LogRow> page;
  std::vector<std::string> names;
  std::ptrdiff_t behind = 0;  // one past the oldest known row
  for (std::size_t limit = first_page;; limit *= 10) {
    auto rows = read(limit);
    if (!rows) return std::move(rows).error();
    page = *std::move(rows);
    names.clear();
    std::transform(page.begin(), page.end(), std::back_inserter(names), identity_of);
    const auto last =
        std::find_if(names.rbegin(), names.rend(), [&](const auto& name) { return known_.contains(name); });
    behind = std::distance(last, names.rend());
    if (!began_ || behind > 0 || page.size() < limit || limit >= largest_page) break;
  }
  // No known row may be left, if somebody purged the log.
  const bool met = behind > 0 || known_.empty();
  const std::size_t end = behind > 0 ? static_cast<std::size_t>(behind) : page.size();
  std::multiset<std::string> unmet = known_;
  std::vector<LogRow> new_rows;
  for (std::size_t i = 0; began_ && i < end; ++i) {
    if (const auto known = unmet.find(names[i]); known != unmet.end())
      unmet.erase(known);
    else if (met || page[i].at > newest_)
      new_rows.push_back(page[i]);
  }
  std::reverse(new_rows.begin(), new_rows.end());
  began_ = true;
  known_ = {names.begin(), names.end()};
  for (const LogRow& row : page) newest_ = std::max(newest_, row.at);
  return new_rows;
}

StorePoller::StorePoller(FoundStore found_store, Common common, std::string prefix)
    : common_(std::move(common)), prefix_(std::move(prefix)), found_store_(std::move(found_store)) {}

std::string StorePoller::name() const { return without_secrets(found_store_.store->name()); }

Status StorePoller::open() {
  if (!found_store_.unused) return Status{};
  auto found_store = find_store_quietly(common_);
  if (!found_store) return std::move(found_store).error();
  found_store_ = *std::move(found_store);
  return Status{};
}

// Reads the log of all keys: with a prefix the store might have to search its whole log for the newest rows.
Result<std::vector<LogRow>> StorePoller::read_log() {
  return log_.next([&](std::size_t limit) -> Result<std::vector<LogRow>> {
    if (found_store_.unused) return std::vector<LogRow>();
    auto page = found_store_.by_hand.try_list({.what = Query::What::log, .limit = limit});
    if (!page) return std::move(page).error();
    return std::move(page->log);
  });
}

Result<Snapshot> StorePoller::read() {
  if (Status s = open(); !s) return std::move(s).error();
  // The first listing shows the effect of all rows before it; rows that are written later must not be lost.
  if (!began_) {
    if (auto old = read_log(); !old) return std::move(old).error();
    began_ = true;
  }
  Snapshot snapshot{.when = BootClock::now(), .at = wall_now()};
  if (found_store_.unused) return snapshot;
  auto leases = all_leases(found_store_.by_hand, prefix_);
  if (!leases) return std::move(leases).error();
  snapshot.leases = *std::move(leases);
  auto new_rows = read_log();
  if (!new_rows) return std::move(new_rows).error();
  for (LogRow& row : *new_rows) {
    if (row.key.starts_with(prefix_)) snapshot.new_log.push_back(std::move(row));
  }
  return snapshot;
}

Result<Inspection> StorePoller::inspect(const std::string& key) {
  if (Status s = open(); !s) return std::move(s).error();
  if (found_store_.unused) return never_used();
  return found_store_.by_hand.try_inspect(key);
}

Result<std::string> StorePoller::break_lease(const std::string& key, Token token, const std::string& reason) {
  if (Status s = open(); !s) return std::move(s).error();
  if (found_store_.unused) return never_used();
  return found_store_.by_hand.try_break_lease(key, token, {user_at_host(), reason});
}

PollLoop::PollLoop(StorePoller& poller, Millis interval) : poller_(poller), interval_(interval), closed_({}) {
  std::signal(SIGPIPE, SIG_IGN);
  // Only its end: systemd shuts its journal socket for reading, and somebody may write into a socket.
  if (is_pipe(STDOUT_FILENO)) closed_.add_hang_up_of(STDOUT_FILENO);
}

std::optional<Snapshot> PollLoop::read(bool first, int& code) {
  auto snapshot = poller_.read();
  if (snapshot) {
    if (std::exchange(away_, false)) complain(poller_.name() + " answers again");
    return *std::move(snapshot);
  }
  if (first || !snapshot.error().retryable()) {
    code = fail(snapshot.error());
  } else if (!std::exchange(away_, true)) {
    complain(snapshot.error().detail + "; trying again");
  }
  return std::nullopt;
}

bool PollLoop::pause() {
  return wakeup_.wait(clamped_add(BootClock::now(), interval_), closed_.fd()) != Wakeup::Why::extra;
}

int PollLoop::run(const std::function<Status(Snapshot)>& print) {
  int code = exit_ok;
  for (bool first = true;; first = false) {
    auto snapshot = read(first, code);
    if (code != exit_ok) return code;
    if (snapshot) {
      const Status printed = print(*std::move(snapshot));
      if (!printed && printed.error().code == Errc::stopped) return exit_ok;
      if (!printed) return fail(printed.error());
    }
    if (!pause()) return exit_ok;
  }
}

}  // namespace holdfast::cli
