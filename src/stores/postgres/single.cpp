// SPDX-License-Identifier: Apache-2.0
// One request in one statement: sql/acquire.sql, renew.sql, release.sql.
#include "stores/postgres/reply.h"
#include "stores/postgres/store.h"

namespace holdfast::postgres {
namespace {

using namespace std::chrono_literals;

enum Column : int { verdict, token, holder, until_us, now_us, ahead };

// When to look again at a row that somebody is changing.
constexpr Millis soon = 50ms;

Row row_in(const Answer& a, int first) {
  return {.token = a.number(0, first),
          .holder = a.text(0, first + 1),
          .end = a.moment(0, first + 2),
          .now = Micros(a.number(0, first + 3))};
}

}  // namespace

PostgresStore::Settled PostgresStore::check(const Answer& answer) const {
  if (!answer.trouble()) return Settled::yes;
  // Only a transaction that sees an old state of the rows is told so; asked again it sees a new one.
  if (answer.trouble()->state == "40001") return Settled::not_yet;
  if (is_contention(answer.trouble()->state)) return Settled::in_the_way;
  raise(statement_error(*answer.trouble(), site_->name()));
}

void PostgresStore::learn(Instant sent, const Answer& answer, int column) {
  if (answer.rows() > 0) offset_.learn(sent, BootClock::now(), Micros(answer.number(0, column)));
}

std::int64_t PostgresStore::void_after(Instant until) const {
  const Instant far = after(BootClock::now(), std::chrono::hours(1));  // the end of time is on no clock
  return offset_.at_least(std::min(until, far)).count();
}

PostgresStore::Settled PostgresStore::settle(Call& call, std::size_t i, Millis patience) {
  const Request& r = call.requests[i];
  parameters_.clear();
  switch (r.verb) {
    case Verb::acquire:
      // Where we have a place somebody waits: we do.
      if (r.detached || !r.note.empty() || waited_for_.contains(r.key.text)) return Settled::not_yet;
      return settle_acquire(r, call.replies[i], call.until, patience);
    case Verb::renew: return settle_renew(r, call.replies[i], call.until, patience);
    case Verb::release:
      if (r.place > Millis::zero()) return Settled::not_yet;
      return settle_release(r, call.replies[i], call.until, patience);
    case Verb::evict: return Settled::not_yet;
  }
  return Settled::not_yet;
}

PostgresStore::Settled PostgresStore::settle_acquire(const Request& r, Reply& reply, Instant until,
                                                     Millis patience) {
  parameters_.text(r.key.text)
      .text(r.holder.text)
      .number(length_of(r.ttl))
      .number(void_after(until))
      .number(patience.count())
      .text(site_->client);
  const Instant sent = BootClock::now();
  const Answer a = connection_.run(statements_.acquire, uses_.acquire, parameters_, until);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  if (a.rows() == 0) return Settled::not_yet;
  learn(sent, a, now_us);
  Row row = row_in(a, token);
  if (a.letter(0, verdict) == 'g') {
    row.holder = r.holder.text;
    answer(reply, Verdict::granted, row);
    return Settled::yes;
  }
  const bool taken = row.live() && row.holder != r.holder.text;
  if (!taken || r.place > Millis::zero()) return Settled::not_yet;
  answer(reply, Verdict::busy, row);
  reply.ahead = static_cast<std::uint32_t>(a.number(0, ahead));
  return Settled::yes;
}

PostgresStore::Settled PostgresStore::settle_renew(const Request& r, Reply& reply, Instant until,
                                                   Millis patience) {
  parameters_.text(r.key.text)
      .text(r.holder.text)
      .number(static_cast<std::int64_t>(number(r.token)))
      .number(length_of(r.ttl))
      .flag(r.extend)
      .number(patience.count());
  const Instant sent = BootClock::now();
  const Answer a = connection_.run(statements_.renew, uses_.renew, parameters_, until);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  learn(sent, a, now_us);
  const bool granted = a.rows() > 0 && a.letter(0, verdict) == 'g';
  answer(reply, granted ? Verdict::granted : Verdict::lost, a.rows() > 0 ? row_in(a, token) : Row{});
  return Settled::yes;
}

PostgresStore::Settled PostgresStore::settle_release(const Request& r, Reply& reply, Instant until,
                                                     Millis patience) {
  parameters_.text(r.key.text)
      .text(r.holder.text)
      .number(static_cast<std::int64_t>(number(r.token)))
      .number(patience.count());
  const Instant sent = BootClock::now();
  const Answer a = connection_.run(statements_.release, uses_.release, parameters_, until);
  if (const Settled settled = check(a); settled != Settled::yes) return settled;
  learn(sent, a, now_us);
  const bool released = a.rows() > 0 && a.letter(0, verdict) == 'r';
  answer(reply, released ? Verdict::released : Verdict::lost, a.rows() > 0 ? row_in(a, token) : Row{});
  return Settled::yes;
}

void PostgresStore::answer_locked(const Request& r, Reply& reply, Instant until) {
  if (r.verb == Verb::release || r.verb == Verb::evict) {
    raise({Errc::unavailable, site_->name() + ": the row of this key is locked by an open transaction of somebody"});
  }
  parameters_.clear();
  parameters_.text(r.key.text);
  const Answer a = connection_.run(statements_.look, uses_.look, parameters_, until);
  if (a.trouble()) raise(statement_error(*a.trouble(), site_->name()));
  const Row row = a.rows() > 0 ? row_in(a, 0) : Row{};
  // Still theirs, if not for longer than before: that is true, and as good as a renewal that came a little earlier.
  const bool theirs = row.live() && row.holder == r.holder.text &&
                      (r.token == no_token || static_cast<std::int64_t>(number(r.token)) == row.token);
  if (theirs) return answer(reply, Verdict::granted, row);
  if (r.verb == Verb::renew) return answer(reply, Verdict::lost, row);
  answer(reply, Verdict::busy, row);
  if (row.live()) return;
  reply.holder.clear();
  reply.remaining = soon;
}

}  // namespace holdfast::postgres
