// SPDX-License-Identifier: Apache-2.0
// model.h - what `top` knows, and what each key does.  Pure: no terminal, no store, no clock.
//
//   where   | keys
//   --------+---------------------------------------------------------------------------------------------
//   list    | arrows j k PgUp PgDn Home End move; s sorts; / filters; Enter inspects; b breaks; r looks now;
//           | p pauses; ? helps; q ends
//   filter  | text filters at once; Enter keeps it; Esc takes it away
//   inspect | arrows scroll; b breaks; Esc, Enter, q: back
//   reason  | text; Enter goes on; Esc leaves the lease alone
//   confirm | yes, then Enter, breaks; anything else, or Esc, leaves it alone
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

// A key as it is shown.
struct TopRow {
  LeaseRow lease{};
  Millis ttl{};          // the most that it was seen to have left since its last renewal
  bool renewed = false;  // a renewal was seen; else `ttl` is only what was left at first
  Millis lag() const noexcept;
  // Somebody should renew it.
  bool is_kept() const noexcept;
};

struct Press {
  enum class Kind : std::uint8_t { text, up, down, page_up, page_down, first, last, enter, escape, erase };
  Kind kind{};
  std::string text{};  // one character
};

// What has to be done for a key that was pressed.
struct RunRequest {
  enum class Kind : std::uint8_t { nothing, end, look, inspect, break_lease };
  Kind kind{};
  std::string key{};
  Token token{};
  std::string reason{};
};

class Model {
 public:
  enum class Mode : std::uint8_t { list, filter, inspect, reason, confirm, help };

  explicit Model(std::string store) : store_(std::move(store)) {}

  void take(Look look);
  void take(Inspection found);
  // The store did not answer.
  void miss(std::string why) { away_ = std::move(why); }
  // Shown until the next key.
  void tell(std::string sentence) { told_ = std::move(sentence); }

  // `page`: so many rows are seen at once.
  RunRequest press(const Press& press, std::size_t page);

  const std::string& store() const noexcept { return store_; }
  const std::vector<TopRow>& rows() const noexcept { return rows_; }
  std::size_t selected() const noexcept { return selected_; }
  Mode mode() const noexcept { return mode_; }
  Order order() const noexcept { return order_; }
  bool paused() const noexcept { return paused_; }
  const std::string& filter() const noexcept { return filter_; }
  const std::string& typed() const noexcept { return typed_; }
  const std::string& told() const noexcept { return told_; }
  const std::string& away() const noexcept { return away_; }
  Moment at() const noexcept { return at_; }
  std::size_t held() const noexcept { return held_; }
  std::size_t waiting() const noexcept { return waiting_; }
  const LeaseRow& doomed() const noexcept { return doomed_; }  // while mode() is reason or confirm
  const std::string& reason() const noexcept { return reason_; }
  const std::string& inspected() const noexcept { return inspected_; }
  const std::optional<Inspection>& inspection() const noexcept { return inspection_; }
  std::size_t scrolled() const noexcept { return scrolled_; }
  // No further than what was drawn has lines.
  void limit_scroll(std::size_t most) noexcept { scrolled_ = std::min(scrolled_, most); }

 private:
  RunRequest press_in_list(const Press& press, std::size_t page);
  RunRequest press_in_inspection(const Press& press, std::size_t page);
  RunRequest press_letter(char letter);
  bool scroll(const Press& press, std::size_t page);
  void press_in_filter(const Press& press);
  RunRequest press_in_break(const Press& press);
  RunRequest confirmed();
  void type(const Press& press);
  void move_to(std::ptrdiff_t place);
  void begin_break(const LeaseRow& row);
  void arrange();

  const std::string store_;
  Instant last_look_{};
  std::map<std::string, TopRow> all_;
  std::vector<TopRow> rows_;  // those that are shown, in order
  std::size_t selected_ = 0;
  Mode mode_ = Mode::list, before_break_ = Mode::list;
  Order order_ = Order::age;
  bool paused_ = false;
  std::string filter_, typed_, told_, away_, reason_;
  Moment at_{};
  std::size_t held_ = 0, waiting_ = 0;
  LeaseRow doomed_;
  std::string inspected_;
  std::optional<Inspection> inspection_;
  std::size_t scrolled_ = 0;
};

}  // namespace holdfast::cli
