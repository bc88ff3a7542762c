// SPDX-License-Identifier: Apache-2.0
// top.h - the model of `top`, without a terminal: keys in, lines out.
#pragma once
#include <gtest/gtest.h>

#include <clocale>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/columns.h"
#include "cli/top/screen.h"

namespace holdfast::cli {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

inline constexpr Moment noon(1'763'208'000s);

inline LeaseRow lease(const std::string& key, const std::string& owner, Millis remaining,
                      std::optional<Moment> since, std::uint32_t waiting = 0) {
  return {.key = key,
          .owner = owner,
          .token = Token{7},
          .remaining = remaining,
          .since = since,
          .note = key == "c" ? "slow" : "",
          .detached = false,
          .waiting = waiting};
}

class TopModel : public ::testing::Test {
 protected:
  TopModel() {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    update({lease("a", "host:web1 pid:1 guid:0", 10s, noon - 1min), lease("b", "me", 30s, noon - 1h, 1),
            lease("c", "you", 20s, noon - 1s, 3), lease("d", "gone", 0ms, noon, 0)});
  }
  void update(std::vector<LeaseRow> rows, Millis later = 0ms) {
    now_ += later;
    model_.update({.when = Instant(1h) + now_, .at = noon + now_, .leases = std::move(rows)});
  }
  // Each letter a key, and those that have none: <enter>, <esc>, <up>, ...
  TopAction press(std::string_view keys) {
    using Kind = Press::Kind;
    static const std::map<std::string_view, Kind> names{
        {"<enter>", Kind::enter}, {"<esc>", Kind::escape},   {"<up>", Kind::up},
        {"<down>", Kind::down},   {"<pgup>", Kind::page_up}, {"<pgdn>", Kind::page_down},
        {"<home>", Kind::first},  {"<end>", Kind::last},     {"<erase>", Kind::erase},
    };
    TopAction action;
    while (!keys.empty()) {
      const bool named = keys[0] == '<';
      const std::size_t length = named ? keys.find('>') + 1 : keys[0] < 0 ? 2 : 1;
      const std::string_view key = keys.substr(0, length);
      action = named ? model_.press({names.at(key)}, 10) : model_.press({Kind::text, std::string(key)}, 10);
      keys.remove_prefix(length);
    }
    return action;
  }
  Texts keys() const {
    Texts all;
    for (const TopRow& row : model_.rows()) all.push_back(row.lease.key);
    return all;
  }
  std::string chosen() const { return model_.rows().at(model_.selected()).lease.key; }
  Texts screen(std::size_t columns = 100, std::size_t rows = 12) const {
    Texts all;
    for (const ScreenLine& line : screen_of(model_, {rows, columns}, noon + now_).lines) {
      all.emplace_back();
      for (const Span& span : line) all.back() += span.text;
      EXPECT_LE(columns_of(all.back()), columns) << all.back();
    }
    EXPECT_LE(all.size(), rows);
    return all;
  }
  std::string text(std::size_t columns = 100, std::size_t rows = 12) const {
    std::string all;
    for (const std::string& line : screen(columns, rows)) all += line + "\n";
    return all;
  }

  Millis now_{};
  Model model_{"sqlite:leases.db"};
};

}  // namespace holdfast::cli
