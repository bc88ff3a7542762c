// SPDX-License-Identifier: Apache-2.0
#include "cli/top/model.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_text = 512;

// Keeps what is known of the grant, if it is the same one.
TopRow updated(const TopRow* before, const LeaseRow& now, Millis elapsed) {
  TopRow row{.lease = now, .ttl = now.remaining};
  if (before == nullptr || !is_held(now) || !is_held(before->lease) || !is_same_grant(before->lease, now))
    return row;
  row.ttl = before->ttl;
  row.renewed = before->renewed;
  if (!was_renewed(before->lease, now, elapsed)) return row;
  // It was renewed since the last snapshot: with the same ttl as before, if that is possible.
  const bool same_ttl = now.remaining <= row.ttl && row.ttl <= now.remaining + elapsed;
  if (!same_ttl || !row.renewed) row.ttl = now.remaining;
  row.renewed = true;
  return row;
}

bool matches(const LeaseRow& row, const std::string& filter) {
  return row.key.find(filter) != std::string::npos || row.owner.find(filter) != std::string::npos ||
         row.note.find(filter) != std::string::npos;
}

// Smaller comes first.
std::tuple<bool, std::int64_t> rank_of(const TopRow& row, Order order) {
  const LeaseRow& lease = row.lease;
  const bool free = !is_held(lease);
  switch (order) {
    case Order::age: return {free || !lease.since, micros_or_zero(lease.since).count()};
    case Order::remaining: return {free, lease.remaining.count()};
    case Order::waiting: return {false, -std::int64_t{lease.waiting}};
    case Order::key: return {false, 0};
    case Order::lag: return {!row.is_kept(), -row.lag().count()};
  }
  return {};
}

// Removes a whole character of UTF-8.
void erase_last(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

Order next_order(Order order) {
  return order == Order::lag ? Order::age : static_cast<Order>(static_cast<int>(order) + 1);
}

}  // namespace

const char* to_string(Order order) noexcept {
  switch (order) {
    case Order::age: return "age";
    case Order::remaining: return "remaining";
    case Order::waiting: return "waiting";
    case Order::key: return "key";
    case Order::lag: return "lag";
  }
  return "";
}

Millis TopRow::lag() const noexcept { return is_kept() ? std::max(ttl - lease.remaining, 0ms) : 0ms; }

bool TopRow::is_kept() const noexcept {
  return is_held(lease) && lease.remaining != never && !lease.detached;
}

void Model::update(Snapshot snapshot) {
  const auto elapsed = std::chrono::floor<Millis>(snapshot.when - last_snapshot_);
  std::map<std::string, TopRow> all;
  held_ = waiting_ = 0;
  for (const LeaseRow& row : snapshot.leases) {
    if (!is_held(row) && row.waiting == 0) continue;
    const auto before = all_.find(row.key);
    all[row.key] = updated(before == all_.end() ? nullptr : &before->second, row, elapsed);
    if (is_held(row)) ++held_;
    waiting_ += row.waiting;
  }
  all_ = std::move(all);
  at_ = snapshot.at;
  last_snapshot_ = snapshot.when;
  unreachable_.clear();
  arrange();
}

void Model::update(Inspection found) {
  if (found.lease.key == inspected_) inspection_ = std::move(found);
}

void Model::arrange() {
  const std::string chosen = rows_.empty() ? "" : rows_[selected_].lease.key;
  rows_.clear();
  for (const auto& [key, row] : all_) {
    if (matches(row.lease, filter_)) rows_.push_back(row);
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const TopRow& a, const TopRow& b) { return rank_of(a, order_) < rank_of(b, order_); });
  const auto again =
      std::find_if(rows_.begin(), rows_.end(), [&](const TopRow& row) { return row.lease.key == chosen; });
  move_to(again == rows_.end() ? static_cast<std::ptrdiff_t>(selected_) : again - rows_.begin());
}

void Model::move_to(std::ptrdiff_t place) {
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  selected_ =
      static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(place, 0, std::max<std::ptrdiff_t>(last, 0)));
}

TopAction Model::press(const Press& press, std::size_t page) {
  message_.clear();
  switch (mode_) {
    case Mode::list: return press_in_list(press, page);
    case Mode::filter: press_in_filter(press); return {};
    case Mode::inspect: return press_in_inspection(press, page);
    case Mode::reason:
    case Mode::confirm: return press_in_break(press);
    case Mode::help:
      if (!scroll(press, page)) mode_ = Mode::list;
      return {};
  }
  return {};
}

TopAction Model::press_in_list(const Press& press, std::size_t page) {
  const auto place = static_cast<std::ptrdiff_t>(selected_);
  const auto step = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page, 2) - 1);
  switch (press.kind) {
    case Press::Kind::up: move_to(place - 1); return {};
    case Press::Kind::down: move_to(place + 1); return {};
    case Press::Kind::page_up: move_to(place - step); return {};
    case Press::Kind::page_down: move_to(place + step); return {};
    case Press::Kind::first: move_to(0); return {};
    case Press::Kind::last: move_to(static_cast<std::ptrdiff_t>(rows_.size())); return {};
    case Press::Kind::enter:
      if (rows_.empty()) return {};
      mode_ = Mode::inspect;
      inspected_ = rows_[selected_].lease.key;
      inspection_.reset();
      scrolled_ = 0;
      return {.kind = TopAction::Kind::inspect, .key = inspected_};
    case Press::Kind::escape:
      filter_.clear();
      arrange();
      return {};
    case Press::Kind::text: return press.text.size() == 1 ? press_letter(press.text[0]) : TopAction{};
    case Press::Kind::erase: return {};
  }
  return {};
}

TopAction Model::press_letter(char letter) {
  switch (letter) {
    case 'q': return {.kind = TopAction::Kind::quit};
    case 'r': return {.kind = TopAction::Kind::refresh};
    case 'p': paused_ = !paused_; return {};
    case '?':
      mode_ = Mode::help;
      scrolled_ = 0;
      return {};
    case '/': mode_ = Mode::filter; return {};
    case 's':
      order_ = next_order(order_);
      arrange();
      return {};
    case 'k': move_to(static_cast<std::ptrdiff_t>(selected_) - 1); return {};
    case 'j': move_to(static_cast<std::ptrdiff_t>(selected_) + 1); return {};
    case 'b':
      if (!rows_.empty()) begin_break(rows_[selected_].lease);
      return {};
  }
  show_message("this key does nothing; ? shows help");
  return {};
}

void Model::press_in_filter(const Press& press) {
  if (press.kind == Press::Kind::escape) filter_.clear();
  if (press.kind == Press::Kind::enter || press.kind == Press::Kind::escape) mode_ = Mode::list;
  if (press.kind == Press::Kind::erase) erase_last(filter_);
  if (press.kind == Press::Kind::text && filter_.size() < longest_text) filter_ += press.text;
  arrange();
}

// False if the key does not scroll.
bool Model::scroll(const Press& press, std::size_t page) {
  const bool letter = press.kind == Press::Kind::text;
  const bool pages = press.kind == Press::Kind::page_up || press.kind == Press::Kind::page_down;
  const std::size_t step = pages ? std::max<std::size_t>(page, 1) : 1;
  const bool up =
      press.kind == Press::Kind::up || press.kind == Press::Kind::page_up || (letter && press.text == "k");
  const bool down = press.kind == Press::Kind::down || press.kind == Press::Kind::page_down ||
                    (letter && press.text == "j");
  if (up) scrolled_ -= std::min(scrolled_, step);
  if (down) scrolled_ += step;
  return up || down;
}

TopAction Model::press_in_inspection(const Press& press, std::size_t page) {
  if (scroll(press, page)) return {};
  const std::string letter = press.kind == Press::Kind::text ? press.text : "";
  if (press.kind == Press::Kind::escape || press.kind == Press::Kind::enter || letter == "q")
    mode_ = Mode::list;
  if (letter == "b" && inspection_) begin_break(inspection_->lease);
  if (letter == "r") return {.kind = TopAction::Kind::inspect, .key = inspected_};
  return {};
}

void Model::begin_break(const LeaseRow& row) {
  if (!is_held(row)) return show_message(printable(row.key) + " is free: there is nothing to break");
  if (row.token == no_token)
    return show_message(
        printable(row.key) +
        " is held by another program, which gives no token; stop it, then use `holdfast release`");
  before_break_ = mode_;
  mode_ = Mode::reason;
  to_break_ = row;
  typed_.clear();
}

void Model::type(const Press& press) {
  if (press.kind == Press::Kind::erase) erase_last(typed_);
  if (press.kind == Press::Kind::text && typed_.size() < longest_text) typed_ += press.text;
}

TopAction Model::press_in_break(const Press& press) {
  if (press.kind == Press::Kind::escape) {
    mode_ = before_break_;
    show_message(printable(to_break_.key) + " was not broken");
  } else if (press.kind != Press::Kind::enter) {
    type(press);
  } else if (mode_ == Mode::confirm) {
    return confirmed();
  } else if (typed_.empty()) {
    show_message("give a reason, which is recorded and shown to the holder; or press Esc");
  } else {
    mode_ = Mode::confirm;
    reason_ = std::exchange(typed_, {});
  }
  return {};
}

TopAction Model::confirmed() {
  // Not the name of the key, because a key may be called "no".
  const bool sure = typed_ == "yes";
  mode_ = before_break_;
  if (sure)
    return {.kind = TopAction::Kind::break_lease,
            .key = to_break_.key,
            .token = to_break_.token,
            .reason = reason_};
  show_message(printable(to_break_.key) + " was not broken: you did not type yes");
  return {};
}

}  // namespace holdfast::cli
