// SPDX-License-Identifier: Apache-2.0
// Many requests in one statement: sql/apply.sql.
#include <algorithm>

#include "core/row.h"
#include "stores/postgres/store_connection.h"

namespace holdfast::postgres {
namespace {

using core::answer;
using core::gives_back;
using core::length_of;
using core::remaining;
using core::Row;

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
  parameters_.text(config_->client).number(void_after(call.until)).number(patience.count());
  parameters_.numbers();
  each([](const Request& r) {
    return r.longest_place > Millis::zero() ? length_of(r.longest_place) : std::nullopt;
  });

  const Instant sent = BootClock::now();
  const Answer answer = connection_->run(statements_.apply, uses_.apply, parameters_, call.until);
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
