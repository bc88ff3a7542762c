// SPDX-License-Identifier: Apache-2.0
// One request in one statement: sql/acquire.sql, renew.sql, release.sql.
#include <algorithm>

#include "core/row.h"
#include "stores/postgres/store_connection.h"

namespace holdfast::postgres {
namespace {

using core::answer;
using core::gives_back;
using core::length_of;
using core::Row;
using rows::is_theirs;

constexpr Millis again_soon{50};

struct SingleColumn {
  enum : int { verdict, token, owner, until_us, now_us, ahead };
};

Row row_in(const Answer& a, int first) {
  return {.token = a.number(0, first),
          .owner = a.text(0, first + 1),
          .end = a.moment(0, first + 2),
          .now = Micros(a.number(0, first + 3))};
}

}  // namespace

PostgresStoreConnection::Settled PostgresStoreConnection::check(const Answer& answer) const {
  if (!answer.trouble()) return Settled::yes;
  // Only a transaction that sees an old state of the rows is told so; asked again it sees a new one.
  if (answer.trouble()->state == "40001") return Settled::not_yet;
  if (is_contention(answer.trouble()->state)) return Settled::in_the_way;
  Error error = statement_error(*answer.trouble(), config_->name());
  if (is_about_values(answer.trouble()->state)) throw rows::NotTaken(std::move(error));
  throw_failure(std::move(error));
}

void PostgresStoreConnection::learn(Instant sent, const Answer& answer, int column) {
  if (answer.rows() > 0) offset_.learn(sent, BootClock::now(), Micros(answer.number(0, column)));
}

std::int64_t PostgresStoreConnection::void_after(Instant until) const {
  return offset_.at_least(until).count();
}

PostgresStoreConnection::Settled PostgresStoreConnection::settle(Call& call, std::size_t i, Millis patience) {
  const Request& r = call.requests[i];
  Reply& reply = call.replies[i];
  switch (r.verb) {
    case Verb::acquire:
      // Where we have a place, or have asked for one, somebody waits: we do.
      if (r.detached || !r.note.empty() || waited_for_.contains(r.key.text) || unplaced_.contains(r.key.text))
        return Settled::not_yet;
      return settle_acquire(r, reply, call.until, patience);
    case Verb::renew:
      ask_about(r).number(length_of(r.ttl)).flag(r.extend).number(patience.count());
      return settle_own(r, reply, connection_->run(statements_.renew, uses_.renew, parameters_, call.until),
                        call.until, patience);
    case Verb::release:
      if (r.place > Millis::zero()) return Settled::not_yet;
      ask_about(r).number(patience.count());
      return settle_own(r, reply,
                        connection_->run(statements_.release, uses_.release, parameters_, call.until),
                        call.until, patience);
    case Verb::evict: return Settled::not_yet;
  }
  return Settled::not_yet;
}

Parameters& PostgresStoreConnection::ask_about(const Request& r) {
  parameters_.clear();
  asked_ = BootClock::now();
  parameters_.text(r.key.text).text(r.owner.text);
  return r.verb == Verb::acquire ? parameters_
                                 : parameters_.number(static_cast<std::int64_t>(to_number(r.token)));
}

PostgresStoreConnection::Settled PostgresStoreConnection::settle_acquire(const Request& r, Reply& reply,
                                                                         Instant until, Millis patience) {
  const auto ask = [&](const Statement& statement, std::uint8_t& times) {
    ask_about(r).number(length_of(r.ttl)).number(void_after(until)).number(patience.count());
    if (&statement == &statements_.acquire) parameters_.text(config_->client);
    return connection_->run(statement, times, parameters_, until);
  };
  const auto free = freed_.find(r.key.text);
  const bool short_cut = free != freed_.end();
  Answer a = short_cut ? ask(statements_.again, uses_.again) : ask(statements_.acquire, uses_.acquire);
  if (short_cut) freed_.erase(free);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  if (a.rows() == 0 && short_cut) {
    a = ask(statements_.acquire, uses_.acquire);
    if (const Settled settled = check(a); settled != Settled::yes) return settled;
  }
  if (a.rows() == 0) return Settled::not_yet;
  learn(asked_, a, SingleColumn::now_us);
  Row row = row_in(a, SingleColumn::token);
  if (a.letter(0, SingleColumn::verdict) == 'g') {
    row.owner = r.owner.text;
    answer(reply, Verdict::granted, row);
    return Settled::yes;
  }
  const bool taken = row.live() && row.owner != r.owner.text;
  if (!taken || r.place > Millis::zero()) return Settled::not_yet;
  answer(reply, Verdict::busy, row);
  reply.ahead = static_cast<std::uint32_t>(a.number(0, SingleColumn::ahead));
  return Settled::yes;
}

// What only the holder can do: a row, or it is lost.
PostgresStoreConnection::Settled PostgresStoreConnection::settle_own(const Request& r, Reply& reply,
                                                                     const Answer& a, Instant until,
                                                                     Millis patience) {
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  if (a.rows() == 0) {
    const Answer seen = look(r, until);
    const Row row = seen.rows() > 0 ? row_in(seen, 0) : Row{};
    if (is_theirs(row, r)) return Settled::not_yet;  // since a moment ago
    if (seen.rows() == 0 && gives_back(r)) {
      if (const Settled sure = make_sure(r, until, patience); sure != Settled::yes) return sure;
    }
    answer(reply, Verdict::lost, row);
    return Settled::yes;
  }
  learn(asked_, a, SingleColumn::now_us);
  const bool released = a.letter(0, SingleColumn::verdict) == 'r';
  answer(reply, released ? Verdict::released : Verdict::granted, row_in(a, SingleColumn::token));
  if (released) remember(freed_, r.key.text);
  return Settled::yes;
}

PostgresStoreConnection::Settled PostgresStoreConnection::make_sure(const Request& r, Instant until,
                                                                    Millis patience) {
  parameters_.clear();
  parameters_.text(r.key.text).number(patience.count());
  const Answer a = connection_->run(statements_.absent, uses_.absent, parameters_, until);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  return a.rows() > 0 ? Settled::yes : Settled::not_yet;
}

Answer PostgresStoreConnection::look(const Request& r, Instant until) {
  parameters_.clear();
  parameters_.text(r.key.text);
  Answer a = connection_->run(statements_.look, uses_.look, parameters_, until);
  if (a.trouble()) throw_failure(statement_error(*a.trouble(), config_->name()));
  return a;
}

void PostgresStoreConnection::answer_locked(Call& call, std::size_t i) {
  const Request& r = call.requests[i];
  const Answer a = look(r, call.until);
  answer_as_seen(call, i, a.rows() > 0 ? row_in(a, 0) : Row{});
  if (r.verb != Verb::acquire || place_of(r) <= Millis::zero()) return;
  // Who has the row locked may be giving it back, and has not seen our place: it was not kept.  It is asked
  // for again soon.
  if (unplaced_.size() >= many_keys) unplaced_.clear();
  unplaced_.insert_or_assign(std::string(r.key.text), place_of(r));
  call.replies[i].remaining = std::min(call.replies[i].remaining, again_soon);
}

}  // namespace holdfast::postgres
