// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/store_connection.h"

#include <algorithm>

#include "core/row.h"

namespace holdfast::postgres {
namespace {

using core::answer;
using core::gives_back;
using core::length_of;
using core::remaining;
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

struct BatchColumn {
  enum : int { n, verdict, token, owner, until_us, now_us, ahead, first_until_us };
};

std::optional<Verdict> verdict_by(char letter) {
  if (letter == 'g') return Verdict::granted;
  if (letter == 'r') return Verdict::released;
  if (letter == 'b') return Verdict::busy;
  if (letter == 'l') return Verdict::lost;
  return std::nullopt;
}

}  // namespace

PostgresStoreConnection::PostgresStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), probe_{.tables = config_->tables}, statements_(config_->tables) {
  connect(until);
}

void PostgresStoreConnection::connect(Instant until) {
  std::tie(connection_, probe_, statements_, offset_) = connect_to(*config_, require_complete, until);
  if (probe_.tables.beside_shedlock()) shedlock_.emplace(probe_.tables, probe_.longest_mark);
}

std::optional<Error> PostgresStoreConnection::misfit(const Request& r) const {
  const auto fits = [](std::string_view text, std::size_t longest) {
    return longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest;
  };
  if (!fits(r.key.text, probe_.longest_key))
    return does_not_fit(r.key.text, probe_.longest_key, "letters", "key", config_->tables.name());
  if (r.verb == Verb::acquire && !fits(r.owner.text, probe_.longest_owner))
    return does_not_fit(r.owner.text, probe_.longest_owner, "letters", "locked_by", config_->tables.name());
  return std::nullopt;
}

// -- one request in one statement: acquire, again, renew, release

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
      return settle_own(r, reply, connection_->run(statements_[Sql::renew], parameters_, call.until),
                        call.until, patience);
    case Verb::release:
      if (r.place > Millis::zero()) return Settled::not_yet;
      ask_about(r).number(patience.count());
      return settle_own(r, reply, connection_->run(statements_[Sql::release], parameters_, call.until),
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
  const auto ask = [&](Sql sql) {
    ask_about(r).number(length_of(r.ttl)).number(void_after(until)).number(patience.count());
    if (sql == Sql::acquire) parameters_.text(config_->client);
    return connection_->run(statements_[sql], parameters_, until);
  };
  const auto free = freed_.find(r.key.text);
  const bool short_cut = free != freed_.end();
  Answer a = ask(short_cut ? Sql::again : Sql::acquire);
  if (short_cut) freed_.erase(free);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  if (a.rows() == 0 && short_cut) {
    a = ask(Sql::acquire);
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
  const Answer a = connection_->run(statements_[Sql::absent], parameters_, until);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  return a.rows() > 0 ? Settled::yes : Settled::not_yet;
}

Answer PostgresStoreConnection::look(const Request& r, Instant until) {
  parameters_.clear();
  parameters_.text(r.key.text);
  Answer a = connection_->run(statements_[Sql::lookup], parameters_, until);
  if (a.trouble()) throw_failure(statement_error(*a.trouble(), config_->name()));
  return a;
}

void PostgresStoreConnection::answer_locked(Call& call, std::size_t i) {
  const Request& r = call.requests[i];
  const Answer a = look(r, call.until);
  Row row = a.rows() > 0 ? row_in(a, 0) : Row{};
  ShedlockBatch::show(row);
  // ShedLock's table has a say in it too.
  answer_as_seen(call, i, row, !shedlock_);
  if (r.verb != Verb::acquire || place_of(r) <= Millis::zero()) return;
  // Who has the row locked may be giving it back, and has not seen our place: it was not kept.  It is asked
  // for again soon.
  if (unplaced_.size() >= many_keys) unplaced_.clear();
  unplaced_.insert_or_assign(std::string(r.key.text), place_of(r));
  call.replies[i].remaining = std::min(call.replies[i].remaining, again_soon);
}

// -- many requests in one statement: apply

void PostgresStoreConnection::remember(Keys& keys, std::string_view key) {
  if (keys.size() >= many_keys) keys.clear();
  keys.emplace(key);
}

Millis PostgresStoreConnection::place_of(const Request& r) const {
  if (r.verb != Verb::acquire || r.place > Millis::zero()) return r.place;
  const auto asked = unplaced_.find(r.key.text);
  return asked == unplaced_.end() ? Millis::zero() : asked->second;
}

PostgresStoreConnection::Settled PostgresStoreConnection::send_key_batch(Call& call, Indices& key_batch,
                                                                         Millis patience, Locked) {
  parameters_.clear();
  parameters_.number(void_after(call.until)).number(patience.count()).text(config_->client);
  const auto each = [&](auto value) {
    for (const std::size_t i : key_batch) parameters_.add(value(call.requests[i]));
  };
  parameters_.texts();
  each([](const Request& r) { return std::string_view(&"anre"[static_cast<std::size_t>(r.verb)], 1); });
  parameters_.texts();
  each([](const Request& r) { return r.key.text; });
  parameters_.texts();
  each([](const Request& r) { return r.owner.text; });
  parameters_.numbers();
  each([](const Request& r) {
    return std::optional(r.verb == Verb::acquire ? 0 : static_cast<std::int64_t>(to_number(r.token)));
  });
  parameters_.numbers();
  each([](const Request& r) { return length_of(r.ttl); });
  parameters_.numbers();
  each([this](const Request& r) { return length_of(std::min(place_of(r), Millis(std::chrono::hours(24)))); });
  parameters_.numbers();
  each([](const Request& r) {
    return std::optional<std::int64_t>((r.extend ? 1 : 0) + (r.detached ? 2 : 0));
  });
  parameters_.texts();
  each([](const Request& r) { return r.note; });
  parameters_.numbers();
  each([](const Request& r) {
    return r.longest_place > Millis::zero() ? length_of(r.longest_place) : std::nullopt;
  });

  const Instant sent = BootClock::now();
  const Answer answer = shedlock_ ? shedlock_->run(*connection_, parameters_, call.requests, key_batch,
                                                   void_after(call.until), patience, call.until)
                                  : connection_->run(statements_[Sql::apply], parameters_, call.until);
  if (shedlock_ && answer.trouble() && ShedlockBatch::was_too_late(*answer.trouble()))
    throw_failure({Errc::unavailable, config_->name() + ": timed out before the commit"});
  if (const Settled settled = check(answer); settled != Settled::yes) return settled;
  learn(sent, answer, BatchColumn::now_us);
  Indices unseen;
  take_answers(call, key_batch, answer, unseen);
  for (const std::size_t i : unseen) {
    try {
      const Settled sure = make_sure(call.requests[i], call.until, patience);
      if (sure == Settled::not_yet) key_batch.push_back(i);
      if (sure == Settled::in_the_way) answer_locked(call, i);
    } catch (const rows::NotTaken& refusal) {
      call.replies[i].error = refusal.error();
    }
  }
  std::sort(key_batch.begin(), key_batch.end(), [&](std::size_t a, std::size_t b) {
    return call.requests[a].key.text < call.requests[b].key.text;
  });
  return key_batch.empty() ? Settled::yes : Settled::not_yet;
}

void PostgresStoreConnection::take_answers(Call& call, Indices& key_batch, const Answer& a, Indices& unseen) {
  Indices open;
  for (int row = 0; row < a.rows(); ++row) {
    const std::size_t i = key_batch[static_cast<std::size_t>(a.number(row, BatchColumn::n) - 1)];
    const Request& request = call.requests[i];
    Reply& reply = call.replies[i];
    Row told{.token = a.number(row, BatchColumn::token),
             .owner = a.text(row, BatchColumn::owner),
             .end = a.moment(row, BatchColumn::until_us),
             .now = Micros(a.number(row, BatchColumn::now_us))};
    ShedlockBatch::show(told);
    const auto said = verdict_by(a.letter(row, BatchColumn::verdict));
    if (!said) {  // somebody was faster, or its time was over by a clock that has been set
      open.push_back(i);
      continue;
    }
    const bool not_our_turn = said == Verdict::busy && !told.live();  // free, but not for us
    if (not_our_turn) told.owner = {};
    answer(reply, *said, told);
    if (said == Verdict::lost && a.is_null(row, BatchColumn::token) && gives_back(request))
      unseen.push_back(i);
    if (said == Verdict::busy) reply.ahead = static_cast<std::uint32_t>(a.number(row, BatchColumn::ahead));
    if (const auto first = a.moment(row, BatchColumn::first_until_us); not_our_turn)
      reply.remaining = first ? remaining(*first, told.now) : Millis(1);
    call.applied = true;
    const bool waits = reply.verdict == Verdict::busy && place_of(request) > Millis::zero();
    if (const auto key = unplaced_.find(request.key.text); key != unplaced_.end()) unplaced_.erase(key);
    if (waits) {
      remember(waited_for_, request.key.text);
    } else if (const auto key = waited_for_.find(request.key.text); !waits && key != waited_for_.end()) {
      waited_for_.erase(key);
    }
  }
  key_batch.swap(open);
}

}  // namespace holdfast::postgres
