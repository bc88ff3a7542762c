// SPDX-License-Identifier: Apache-2.0
// Many requests, one for each key, in one transaction: sql/read.sql, then core/rule.h, then writes.h.
#include <algorithm>
#include <map>

#include "core/rule.h"
#include "stores/mariadb/darwin.h"
#include "stores/mariadb/store.h"
#include "stores/mariadb/words.h"
#include "stores/mariadb/writes.h"

namespace holdfast::mariadb {
namespace {

using core::Outcome;
using core::Place;
using core::Record;

constexpr std::size_t many_keys = 10'000;
// Behind a transaction: the connection may be idle for as long as the server likes again.
constexpr const char* in_peace = "SET wait_timeout = DEFAULT;";

// A key's row and queue, as they were locked.
struct Kept {
  Record record = {};
  bool known = false;  // it has a row
  std::map<std::string, std::int64_t, std::less<>> tickets = {};
  std::int64_t last_ticket = 0;
};

struct Seen {
  std::map<std::string, Kept, std::less<>> keys = {};
  core::Moment moment = {};
};

enum : std::size_t { rows = 2, queue, state, more };

Seen seen_in(const Answers& answers, const std::vector<std::string_view>& asked, bool collated) {
  Seen seen;
  for (const std::string_view key : asked) seen.keys.try_emplace(std::string(key));
  // Where a collation says what is one key, only one was asked for.
  const auto kept = [&](const Answer& a, std::size_t i) -> Kept& {
    return seen.keys.find(collated ? asked.front() : a.text(i, 0))->second;
  };
  for (std::size_t i = 0; i < answers[rows].rows.size(); ++i) {
    const Answer& a = answers[rows];
    Kept& k = kept(a, i);
    k.known = true;
    k.record.holder = a.text(i, 1);
    k.record.since = a.moment(i, 2).value_or(Micros::zero());
    k.record.end = a.moment(i, 3);
    k.record.token = Token{static_cast<std::uint64_t>(a.number(i, 4))};
  }
  for (std::size_t i = 0; i < answers[queue].rows.size(); ++i) {
    const Answer& a = answers[queue];
    Kept& k = kept(a, i);
    k.record.queue.push_back({.client = std::string(a.text(i, 1)),
                              .holder = std::string(a.text(i, 2)),
                              .until = Micros(a.number(i, 3))});
    k.tickets.emplace(a.text(i, 1), a.number(i, 4));
    k.last_ticket = std::max(k.last_ticket, a.number(i, 4));
  }
  const Micros now(answers[state].number(0, 0));
  seen.moment = {
      .now = now, .wall = now, .purged = Token{static_cast<std::uint64_t>(answers[state].number(0, 1))}};
  return seen;
}

// Somebody has a row locked that everybody sees.
bool is_locked(const Seen& seen, const Answer& visible) {
  const auto known =
      std::count_if(seen.keys.begin(), seen.keys.end(), [](const auto& entry) { return entry.second.known; });
  return static_cast<std::size_t>(known) < visible.rows.size();
}

void write(Writes& writes, const Request& r, const Kept& before, const Record& record, const Outcome& outcome,
           std::string_view client, Micros now) {
  const std::string_view key = r.key.text;
  const bool granted = outcome.changed && record.token != before.record.token;
  if (outcome.changed) writes.lease(key, record, before.known);
  // It was never there, or an acquire that was given up is making it just now: then this waits for that.
  else if (!before.known && core::gives_back(r))
    writes.lease(key, {.end = now}, false);
  if (granted && (record.detached || !record.note.empty())) writes.facts(key, record);
  if (outcome.log) writes.log(*outcome.log);
  if (granted && !before.tickets.empty())
    writes.no_old_places(key, client, now);
  else if (outcome.place == Outcome::Place::left)
    writes.no_place(key, client);
  if (outcome.place != Outcome::Place::kept) return;
  const auto ours = std::find_if(record.queue.begin(), record.queue.end(),
                                 [&](const Place& p) { return p.client == client; });
  const auto old = std::find_if(before.record.queue.begin(), before.record.queue.end(),
                                [&](const Place& p) { return p.client == client && p.until > now; });
  writes.place(
      key, *ours,
      old != before.record.queue.end() ? before.tickets.find(client)->second : before.last_ticket + 1);
}

}  // namespace

void MariaStore::roll_back(Instant until) {
  const Answers done = connection_->run(std::string("ROLLBACK;") + in_peace, until);
  if (done.trouble) raise(statement_error(*done.trouble, site_->name));
}

Answers MariaStore::begin(const Call& call, const Indices& wave, Millis patience, Locked locked) {
  std::string keys;
  for (const std::size_t i : wave)
    keys += (keys.empty() ? "" : ", ") + site_->tables.key(call.requests[i].key.text);
  const bool skips = locked == Locked::skip;
  std::string last = site_->tables.darwin() ? darwin_read(site_->tables) : "";
  if (skips) last += site_->tables.expand("SELECT `key` FROM {locks} WHERE `key` IN ({keys});");
  try {
    return connection_->run(
        with(with(read_, {{"more", last}}),
             {{"keys", keys}, {"skip", skips ? " SKIP LOCKED" : ""}, {"patience", wait_at_most(patience)}}),
        call.until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    error.code = Errc::unavailable;  // what is not committed is undone
    raise(std::move(error));
  }
}

MariaStore::Settled MariaStore::send_wave(Call& call, Indices& wave, Millis patience, Locked locked) {
  const Instant sent = BootClock::now();
  const Answers answers = begin(call, wave, patience, locked);
  if (answers.trouble) {
    roll_back(call.until);
    return check(answers.trouble);
  }
  std::vector<std::string_view> keys;
  for (const std::size_t i : wave) keys.push_back(call.requests[i].key.text);
  if (answers[state].is_null(0, 1)) {
    roll_back(call.until);
    raise({Errc::refused, no_state_row(*site_)});
  }
  Seen seen = seen_in(answers, keys, site_->tables.darwin());
  offset_.learn(sent, BootClock::now(), seen.moment.now);
  if (locked == Locked::skip && is_locked(seen, answers.back())) {
    roll_back(call.until);
    return Settled::in_the_way;
  }
  Writes writes(site_->tables);
  for (const std::size_t i : wave) {
    const Request& r = call.requests[i];
    Kept& kept = seen.keys.find(r.key.text)->second;
    std::optional<Darwin> beside;
    if (site_->tables.darwin()) beside.emplace(answers[more], kept.record, seen.moment.now);
    const Kept before = kept;
    Outcome outcome = core::decide(r, site_->client, kept.record, seen.moment);
    if (beside) beside->correct(outcome);
    write(writes, r, before, kept.record, outcome, site_->client, seen.moment.now);
    if (beside && outcome.changed)
      writes.also(beside->write(r.key.text, before.record, kept.record, seen.moment.now, site_->tables));
    call.replies[i] = std::move(outcome.reply);
  }
  if (const Settled settled = end(writes, call.until); settled != Settled::yes) return settled;
  for (const std::size_t i : wave) remember(call.requests[i], call.replies[i]);
  return Settled::yes;
}

MariaStore::Settled MariaStore::end(const Writes& writes, Instant until) {
  if (writes.empty()) {
    roll_back(until);
    return Settled::yes;
  }
  // A subquery with two rows ends the text, and what was written is undone, if the time is over by now: the
  // last of all, because an INSERT may have waited for somebody.
  const std::string in_time =
      "SELECT IF({now_us} <= " + std::to_string(void_after(until)) + ", 1, (SELECT 1 UNION ALL SELECT 2));\n";
  const Answers done =
      connection_->run(writes.text() + site_->tables.expand(in_time) + "COMMIT;" + in_peace, until);
  if (done.trouble) roll_back(until);
  if (done.trouble && done.trouble->code == 1242)
    raise({Errc::unavailable, site_->name + ": the time for this call was over before it was committed"});
  return check(done.trouble);
}

void MariaStore::put(Keys& keys, std::string_view key) {
  if (keys.size() >= many_keys) keys.clear();
  keys.emplace(key);
}

void MariaStore::remember(const Request& r, const Reply& reply) {
  const bool busy = reply.verdict == Verdict::busy;
  if (busy && r.place > Millis::zero()) put(waited_for_, r.key.text);
  if (const auto key = waited_for_.find(r.key.text); !busy && key != waited_for_.end())
    waited_for_.erase(key);
}

}  // namespace holdfast::mariadb
