// SPDX-License-Identifier: Apache-2.0
#include "cli/see/log_cursor.h"

#include <algorithm>
#include <iterator>

namespace holdfast::cli {
namespace {

constexpr std::size_t first_page = 100, largest_page = 100'000;

std::string identity_of(const LogRow& row) {
  std::string all =
      std::to_string(row.at.time_since_epoch().count()) + ' ' + std::to_string(to_number(row.token));
  for (const std::string* text : {&row.event, &row.key, &row.owner, &row.by, &row.reason})
    all += '\0' + *text;
  return all;
}

}  // namespace

Result<std::vector<LogRow>> LogCursor::next(const Read& read) {
  std::vector<LogRow> page;
  std::vector<std::string> names;
  std::ptrdiff_t behind = 0;  // the oldest that is known has this place
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
  // Of what was known nothing may be left, if somebody purged the log.
  const bool met = behind > 0 || known_.empty();
  const std::size_t end = behind > 0 ? static_cast<std::size_t>(behind) : page.size();
  std::multiset<std::string> unmet = known_;
  std::vector<LogRow> news;
  for (std::size_t i = 0; began_ && i < end; ++i) {
    if (const auto known = unmet.find(names[i]); known != unmet.end())
      unmet.erase(known);
    else if (met || page[i].at > newest_)
      news.push_back(page[i]);
  }
  std::reverse(news.begin(), news.end());
  began_ = true;
  known_ = {names.begin(), names.end()};
  for (const LogRow& row : page) newest_ = std::max(newest_, row.at);
  return news;
}

}  // namespace holdfast::cli
