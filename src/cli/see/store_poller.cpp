// SPDX-License-Identifier: Apache-2.0
#include "cli/see/store_poller.h"

#include "base/process.h"
#include "base/time.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

// For each page a store may have to read and sort all keys that were ever used: in few pages, then.
constexpr std::size_t page_size = 50'000;

Error never_used() { return {Errc::lost, "nobody has used this store yet"}; }

}  // namespace

std::string StorePoller::name() const { return without_secrets(looked_.store->name()); }

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

StorePoller::StorePoller(Looked looked, Common common, std::string prefix)
    : common_(std::move(common)), prefix_(std::move(prefix)), looked_(std::move(looked)) {}

Status StorePoller::open() {
  if (!looked_.unused) return Status{};
  auto looked = look_quietly(common_);
  if (!looked) return std::move(looked).error();
  looked_ = *std::move(looked);
  return Status{};
}

// Of all keys: with a prefix the store may have to search all of its log for the newest lines.
Result<std::vector<LogRow>> StorePoller::read_log() {
  return log_.next([&](std::size_t limit) -> Result<std::vector<LogRow>> {
    if (looked_.unused) return std::vector<LogRow>();
    auto page = looked_.by_hand.try_list({.what = Query::What::log, .limit = limit});
    if (!page) return std::move(page).error();
    return std::move(page->log);
  });
}

Result<Look> StorePoller::look() {
  if (Status s = open(); !s) return std::move(s).error();
  // What was written down before the first listing is in it; what comes later is not lost, though.
  if (!began_) {
    if (auto old = read_log(); !old) return std::move(old).error();
    began_ = true;
  }
  Look look{.when = BootClock::now(), .at = wall_now()};
  if (looked_.unused) return look;
  auto leases = all_leases(looked_.by_hand, prefix_);
  if (!leases) return std::move(leases).error();
  look.leases = *std::move(leases);
  auto news = read_log();
  if (!news) return std::move(news).error();
  for (LogRow& row : *news) {
    if (row.key.starts_with(prefix_)) look.news.push_back(std::move(row));
  }
  return look;
}

Result<Inspection> StorePoller::inspect(const std::string& key) {
  if (Status s = open(); !s) return std::move(s).error();
  if (looked_.unused) return never_used();
  return looked_.by_hand.try_inspect(key);
}

Result<std::string> StorePoller::break_lease(const std::string& key, Token token, const std::string& reason) {
  if (Status s = open(); !s) return std::move(s).error();
  if (looked_.unused) return never_used();
  return looked_.by_hand.try_break_lease(key, token, {user_at_host(), reason});
}

}  // namespace holdfast::cli
