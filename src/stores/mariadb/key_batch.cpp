// SPDX-License-Identifier: Apache-2.0
// Many requests, one for each key, in one transaction: sql/read.sql, then core/rule.h, then writes.h.
#include <algorithm>
#include <span>

#include "core/rule.h"
#include "stores/mariadb/darwin.h"
#include "stores/mariadb/kept.h"
#include "stores/mariadb/store_connection.h"
#include "stores/mariadb/writes.h"

namespace holdfast::mariadb {
namespace {

using core::Outcome;

constexpr std::size_t many_keys = 10'000;

// Behind sql/begin.sql; then what only some ask for.
enum : std::size_t { leases = 2, more = leases + Seen::answers };

// Somebody has a row locked that everybody sees.
bool is_locked(const Seen& seen, const Answer& visible) {
  const auto seen_keys =
      std::count_if(seen.keys.begin(), seen.keys.end(), [](const auto& entry) { return entry.second.known; });
  return static_cast<std::size_t>(seen_keys) < visible.rows.size();
}

}  // namespace

void MariaStoreConnection::roll_back(Instant until) {
  const Answers done = connection_->run(undo, until);
  if (done.trouble) throw_failure(statement_error(*done.trouble, config_->name));
}

Answers MariaStoreConnection::begin(const Call& call, const Indices& key_batch, Millis patience,
                                    Locked locked) {
  std::string keys;
  for (const std::size_t i : key_batch)
    keys += (keys.empty() ? "" : ", ") + config_->tables.key(call.requests[i].key.text);
  const bool skips = locked == Locked::skip;
  std::string last = config_->tables.darwin() ? darwin_read(config_->tables) : "";
  if (skips) last += config_->tables.expand("SELECT `key` FROM {locks} WHERE `key` IN ({keys});");
  try {
    return connection_->run(
        with(with(read_, {{"more", last}}),
             {{"keys", keys}, {"skip", skips ? " SKIP LOCKED" : ""}, {"patience", wait_at_most(patience)}}),
        call.until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    error.code = Errc::unavailable;  // what is not committed is undone
    throw_failure(std::move(error));
  }
}

MariaStoreConnection::Settled MariaStoreConnection::send_key_batch(Call& call, Indices& key_batch,
                                                                   Millis patience, Locked locked) {
  const Instant sent = BootClock::now();
  const Answers answers = begin(call, key_batch, patience, locked);
  if (answers.trouble) {
    roll_back(call.until);
    return check(answers.trouble);
  }
  std::vector<std::string_view> keys;
  for (const std::size_t i : key_batch) keys.push_back(call.requests[i].key.text);
  const std::span<const Answer> read = std::span(answers.each).subspan(leases, Seen::answers);
  if (!has_state(read)) {
    roll_back(call.until);
    throw_failure({Errc::unprepared, no_state_row(*config_)});
  }
  Seen seen = seen_in(read, keys, config_->tables.darwin());
  offset_.learn(sent, BootClock::now(), seen.moment.now);
  if (locked == Locked::skip && is_locked(seen, answers.back())) {
    roll_back(call.until);
    return Settled::in_the_way;
  }
  Writes writes(config_->tables);
  for (const std::size_t i : key_batch) {
    const Request& r = call.requests[i];
    Kept& kept = seen.keys.find(r.key.text)->second;
    std::optional<Darwin> beside;
    if (config_->tables.darwin()) beside.emplace(answers[more], kept.record, seen.moment.now);
    const Kept before = kept;
    Outcome outcome = core::decide(r, config_->client, kept.record, seen.moment);
    if (beside) beside->correct(outcome);
    write(writes, r, before, kept.record, outcome, config_->client, seen.moment.now);
    if (beside && outcome.changed)
      writes.also(beside->write(r.key.text, before.record, kept.record, seen.moment.now, config_->tables));
    call.replies[i] = std::move(outcome.reply);
  }
  if (const Settled settled = end(writes, call.until); settled != Settled::yes) return settled;
  for (const std::size_t i : key_batch) remember(call.requests[i], call.replies[i]);
  return Settled::yes;
}

MariaStoreConnection::Settled MariaStoreConnection::end(const Writes& writes, Instant until) {
  if (writes.empty()) {
    roll_back(until);
    return Settled::yes;
  }
  const Answers done =
      connection_->run(writes.text() + commit_unless_late(config_->tables, void_after(until)), until);
  if (done.trouble) roll_back(until);
  if (done.trouble && done.trouble->code == too_late)
    throw_failure({Errc::unavailable, config_->name + ": timed out before the commit"});
  return check(done.trouble);
}

void MariaStoreConnection::put(Keys& keys, std::string_view key) {
  if (keys.size() >= many_keys) keys.clear();
  keys.emplace(key);
}

void MariaStoreConnection::remember(const Request& r, const Reply& reply) {
  const bool busy = reply.verdict == Verdict::busy;
  if (busy && r.place > Millis::zero()) put(waited_for_, r.key.text);
  if (const auto key = waited_for_.find(r.key.text); !busy && key != waited_for_.end())
    waited_for_.erase(key);
}

}  // namespace holdfast::mariadb
