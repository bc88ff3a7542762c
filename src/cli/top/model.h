// SPDX-License-Identifier: Apache-2.0
// model.h - the state of `top`, and what each key does.  Pure: no terminal, no store, no clock.
//
//   where   | keys
//   --------+---------------------------------------------------------------------------------------------
//   list    | arrows j k PgUp PgDn Home End move; s sorts; / filters; Enter inspects; b breaks; r refreshes;
//           | p pauses; ? shows help; q quits
//   filter  | text filters at once; Enter keeps the filter; Esc removes it
//   inspect | arrows scroll; b breaks; Esc, Enter, q: back
//   reason  | text; Enter continues; Esc cancels
//   confirm | yes, then Enter, breaks; anything else, or Esc, cancels
//   help    | arrows scroll; any other key: back
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/see/changes.h"

namespace holdfast::cli {

enum class Order : std::uint8_t { age, remaining, waiting, key, lag };
const char* to_string(Order order) noexcept;

// A row of the list.
struct TopRow {
  LeaseRow lease{};
  Millis ttl{};          // the most that was left in any snapshot since the last renewal
  bool renewed = false;  // a renewal was seen; otherwise `ttl` is only what was left in the first snapshot
  Millis lag() const noexcept;
  // Its holder should renew it.
  bool is_kept() const noexcept;
};

struct Press {
  enum class Kind : std::uint8_t { text, up, down, page_up, page_down, first, last, enter, escape, erase };
  Kind kind{};
  std::string text{};  // one character
};

// What the caller has to do after a key was pressed.
struct TopAction {
  enum class Kind : std::uint8_t { nothing, quit, refresh, inspect, break_lease };
  Kind kind{};
  std::string key{};
  Token token{};
  std::string reason{};
};

class Model {
 public:
  enum class Mode : std::uint8_t { list, filter, inspect, reason, confirm, help };

  explicit Model(std::string store) : store_(std::move(store)) {}

  void update(Snapshot snapshot);
  void update(Inspection found);
  // The store did not answer.
  void set_unreachable(std::string why) { unreachable_ = std::move(why); }
  // Shown until the next key.
  void show_message(std::string sentence) { message_ = std::move(sentence); }

  // `page`: how many rows are visible.
  TopAction press(const Press& press, std::size_t page);

  const std::string& store() const noexcept { return store_; }
  const std::vector<TopRow>& rows() const noexcept { return rows_; }
  std::size_t selected() const noexcept { return selected_; }
  Mode mode() const noexcept { return mode_; }
  Order order() const noexcept { return order_; }
  bool paused() const noexcept { return paused_; }
  const std::string& filter() const noexcept { return filter_; }
  const std::string& typed() const noexcept { return typed_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& unreachable() const noexcept { return unreachable_; }  // why; empty: it is not
  Moment at() const noexcept { return at_; }
  std::size_t held() const noexcept { return held_; }
  std::size_t waiting() const noexcept { return waiting_; }
  const LeaseRow& to_break() const noexcept { return to_break_; }  // while mode() is reason or confirm
  const std::string& reason() const noexcept { return reason_; }
  const std::string& inspected() const noexcept { return inspected_; }
  const std::optional<Inspection>& inspection() const noexcept { return inspection_; }
  std::size_t scrolled() const noexcept { return scrolled_; }
  // Not further than the page has lines.
  void limit_scroll(std::size_t most) noexcept { scrolled_ = std::min(scrolled_, most); }

 private:
  TopAction press_in_list(const Press& press, std::size_t page);
  TopAction press_in_inspection(const Press& press, std::size_t page);
  TopAction press_letter(char letter);
  bool scroll(const Press& press, std::size_t page);
  void press_in_filter(const Press& press);
  TopAction press_in_break(const Press& press);
  TopAction confirmed();
  void type(const Press& press);
  void move_to(std::ptrdiff_t place);
  void begin_break(const LeaseRow& row);
  void arrange();

  const std::string store_;
  Instant last_snapshot_{};
  std::map<std::string, TopRow> all_;
  std::vector<TopRow> rows_;  // the visible ones, in order
  std::size_t selected_ = 0;
  Mode mode_ = Mode::list, before_break_ = Mode::list;
  Order order_ = Order::age;
  bool paused_ = false;
  std::string filter_, typed_, message_, unreachable_, reason_;
  Moment at_{};
  std::size_t held_ = 0, waiting_ = 0;
  LeaseRow to_break_;
  std::string inspected_;
  std::optional<Inspection> inspection_;
  std::size_t scrolled_ = 0;
};

}  // namespace holdfast::cli
