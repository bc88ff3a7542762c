// SPDX-License-Identifier: Apache-2.0
#include "cli/see/changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/see/describe.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

bool is_about(const LogRow& line, const LeaseRow& row) {
  return line.key == row.key && line.token == row.token && line.owner == row.owner;
}

LeaseRow nobody(const std::string& key) {
  LeaseRow row;
  row.key = key;
  return row;
}

// One key between two snapshots.
class KeyComparison {
 public:
  KeyComparison(LeaseRow before, std::optional<LeaseRow> now, std::vector<LogRow> new_log, Moment at,
                Millis elapsed)
      : before_(std::move(before)),
        gone_(!now),
        now_(std::move(now).value_or(nobody(before_.key))),
        new_log_(std::move(new_log)),
        at_(at),
        elapsed_(elapsed) {}

  std::vector<Change> changes() && {
    if (is_held(before_) && is_held(now_) && is_same_grant(before_, now_) && new_log_.empty()) {
      add_same_grant();
    } else {
      if (is_held(before_) && !is_same_as_now() && !is_in_log()) add_end();
      for (const LogRow& line : new_log_) add_logged(line);
      if (is_held(now_) && !is_same_as_before() && !is_taken_over()) add_acquired();
    }
    add_queue();
    return std::move(all_);
  }

 private:
  bool is_same_as_now() const { return is_held(now_) && is_same_grant(before_, now_); }
  bool is_same_as_before() const { return is_held(before_) && is_same_grant(before_, now_); }
  bool is_in_log() const {
    return std::any_of(new_log_.begin(), new_log_.end(),
                       [&](const LogRow& n) { return is_about(n, before_); });
  }
  bool is_taken_over() const {
    return !new_log_.empty() && new_log_.back().event == "taken-over" && new_log_.back().by == now_.owner;
  }

  void add(Event event, Moment at, const LeaseRow& row) {
    if (!all_.empty()) at = std::max(at, all_.back().at);
    all_.push_back({.at = at,
                    .event = event,
                    .key = row.key,
                    .owner = row.owner,
                    .token = row.token,
                    .remaining = row.remaining,
                    .waiting = now_.waiting,
                    .detail = row.note});
  }

  void add_same_grant() {
    if (was_renewed(before_, now_, elapsed_)) add(Event::renewed, at_, now_);
    if (before_.note != now_.note) add(Event::note, at_, now_);
  }

  // The store forgets a holder that released, and remembers one whose lease expired.
  void add_end() {
    const bool remembered = !now_.owner.empty() && now_.owner == before_.owner && now_.token == before_.token;
    const bool ran_out = before_.remaining != never && before_.remaining <= elapsed_;
    const bool expired = is_held(now_) || gone_ ? ran_out : remembered;
    Moment at = is_held(now_) ? now_.since.value_or(at_) : at_;
    if (expired && ran_out) at = std::min(at, at_ - elapsed_ + before_.remaining);
    LeaseRow row = before_;
    row.remaining = 0ms;
    add(expired ? Event::expired : Event::released, at, row);
    all_.back().free_since = !is_held(now_);
  }

  void add_logged(const LogRow& line) {
    const Event event = line.event == "broken" ? Event::broken : Event::taken_over;
    LeaseRow lost = nobody(line.key);
    lost.owner = line.owner;
    lost.token = line.token;
    lost.note = line.reason;
    add(event, line.at, lost);
    all_.back().by = line.by;
    if (event == Event::taken_over) ++granted_;
  }

  void add_acquired() {
    add(Event::acquired, std::min(now_.since.value_or(at_), at_), now_);
    ++granted_;
  }

  void add_queue() {
    const std::uint32_t expected = before_.waiting - std::min(before_.waiting, granted_);
    if (now_.waiting > before_.waiting) add(Event::waiting, at_, now_);
    if (now_.waiting < expected) add(Event::left, at_, now_);
  }

  const LeaseRow before_;
  const bool gone_;
  const LeaseRow now_;
  const std::vector<LogRow> new_log_;
  const Moment at_;
  const Millis elapsed_;
  std::uint32_t granted_ = 0;
  std::vector<Change> all_;
};

std::vector<Change> held_at_first(const Snapshot& snapshot) {
  std::vector<Change> all;
  for (const LeaseRow& row : snapshot.leases) {
    if (!is_held(row) && row.waiting == 0) continue;
    all.push_back({.at = snapshot.at,
                   .event = is_held(row) ? Event::holds : Event::waiting,
                   .key = row.key,
                   .owner = is_held(row) ? row.owner : "",
                   .token = row.token,
                   .remaining = row.remaining,
                   .waiting = row.waiting,
                   .detail = row.note});
  }
  return all;
}

struct Pair {
  LeaseRow before;
  std::optional<LeaseRow> now;
  std::vector<LogRow> new_log;
};

std::map<std::string, Pair> by_key(const Snapshot& before, const Snapshot& now) {
  std::map<std::string, Pair> pairs;
  for (const LeaseRow& row : before.leases) pairs[row.key].before = row;
  for (const LeaseRow& row : now.leases) pairs[row.key].now = row;
  for (const LogRow& line : now.new_log) pairs[line.key].new_log.push_back(line);
  for (auto& [key, pair] : pairs) pair.before.key = key;
  return pairs;
}

std::string and_note(const std::string& note) { return note.empty() ? "" : " (" + printable(note) + ")"; }
std::string time_left(Millis remaining) {
  return remaining == never ? "without end" : format_duration(remaining) + " left";
}
std::string how_many(std::uint32_t waiting) {
  if (waiting == 0) return "nobody waits";
  return std::to_string(waiting) + (waiting == 1 ? " waits" : " wait");
}

}  // namespace

bool is_held(const LeaseRow& row) noexcept { return row.remaining > Millis::zero(); }

bool is_same_grant(const LeaseRow& a, const LeaseRow& b) noexcept {
  return a.owner == b.owner && a.token == b.token && (a.token != no_token || a.since == b.since);
}

const char* to_string(Event event) noexcept {
  switch (event) {
    case Event::holds: return "holds";
    case Event::acquired: return "acquired";
    case Event::renewed: return "renewed";
    case Event::released: return "released";
    case Event::expired: return "expired";
    case Event::taken_over: return "taken-over";
    case Event::broken: return "broken";
    case Event::waiting: return "waiting";
    case Event::left: return "left";
    case Event::note: return "note";
  }
  return "unknown";
}

std::string sentence_of(const Change& c) {
  switch (c.event) {
    case Event::holds:
      return "held by " + who(c.owner) + ", " + time_left(c.remaining) + with_token(c.token) +
             (c.waiting == 0 ? "" : ", " + how_many(c.waiting)) + and_note(c.detail);
    case Event::acquired: return "by " + who(c.owner) + with_token(c.token) + and_note(c.detail);
    case Event::renewed: return "by " + who(c.owner) + ", " + time_left(c.remaining);
    case Event::released: return "by " + who(c.owner) + with_token(c.token);
    case Event::expired:
      return "lease of " + who(c.owner) + with_token(c.token) + (c.free_since ? "; the key is free" : "");
    case Event::taken_over:
      return "by " + who(c.by) + " from " + who(c.owner) + with_token(c.token) + because(c.detail);
    case Event::broken:
      return "by " + who(c.by) + because(c.detail) + " (was held by " + who(c.owner) + with_token(c.token) +
             ")";
    case Event::waiting: return how_many(c.waiting) + (c.owner.empty() ? "" : " for " + who(c.owner));
    case Event::left: return c.waiting == 0 ? "nobody waits any more" : "only " + how_many(c.waiting);
    case Event::note: return c.detail.empty() ? "removed" : printable(c.detail);
  }
  return "";
}

bool was_renewed(const LeaseRow& before, const LeaseRow& after, Millis elapsed) noexcept {
  if (before.remaining == never || after.remaining == never) return before.remaining != after.remaining;
  // The time that replies take must not look like a renewal.
  const Millis slack = std::max(500ms, elapsed / 4);
  return after.remaining > before.remaining || after.remaining > before.remaining - elapsed + slack;
}

std::vector<Change> ChangeTracker::update(Snapshot snapshot) {
  // If the listing still has the grant that a row ended, the row was written after the listing was made, and
  // belongs to the next snapshot.
  const std::size_t known = early_.size();
  std::vector<LogRow> new_log = std::exchange(early_, {});
  new_log.insert(new_log.end(), snapshot.new_log.begin(), snapshot.new_log.end());
  std::map<std::string, const LeaseRow*> held;
  for (const LeaseRow& row : snapshot.leases) {
    if (is_held(row)) held[row.key] = &row;
  }
  snapshot.new_log.clear();
  std::set<std::string> put_off;  // their later rows too
  for (std::size_t i = 0; i < new_log.size(); ++i) {
    const auto row = held.find(new_log[i].key);
    if (i >= known && row != held.end() && is_about(new_log[i], *row->second)) put_off.insert(new_log[i].key);
    (i >= known && put_off.contains(new_log[i].key) ? early_ : snapshot.new_log)
        .push_back(std::move(new_log[i]));
  }
  std::vector<Change> all;
  if (!began_) {
    all = held_at_first(snapshot);
  } else {
    const auto elapsed = std::chrono::floor<Millis>(snapshot.when - before_.when);
    for (auto& [key, pair] : by_key(before_, snapshot)) {
      for (Change& change : KeyComparison(std::move(pair.before), std::move(pair.now),
                                          std::move(pair.new_log), snapshot.at, elapsed)
                                .changes())
        all.push_back(std::move(change));
    }
    std::stable_sort(all.begin(), all.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  }
  began_ = true;
  before_ = std::move(snapshot);
  return all;
}

}  // namespace holdfast::cli
