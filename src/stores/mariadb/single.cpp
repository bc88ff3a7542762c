// SPDX-License-Identifier: Apache-2.0
// One request in one text: sql/acquire.sql, renew.sql, release.sql, and look.sql behind each.
#include <algorithm>

#include "stores/mariadb/store_connection.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

using core::answer;
using core::gives_back;
using core::length_of;
using core::Row;
using rows::is_theirs;

struct LookColumn {
  enum : std::size_t { now_us, token, owner, until_us, ahead };
};

Row row_in(const Answer& a) {
  return {.token = a.number(0, LookColumn::token),
          .owner = a.text(0, LookColumn::owner),
          .end = a.moment(0, LookColumn::until_us),
          .now = Micros(a.number(0, LookColumn::now_us))};
}

}  // namespace

MariaStoreConnection::Settled MariaStoreConnection::settle(Call& call, std::size_t i, Millis patience) {
  const Request& r = call.requests[i];
  const bool acquires = r.verb == Verb::acquire;
  if (r.verb == Verb::evict || (r.verb == Verb::release && r.place > Millis::zero())) return Settled::not_yet;
  // Where we have a place somebody waits: we do.  Then a look is all that most polls need.
  const bool waits = acquires && waited_for_.contains(r.key.text);
  if (waits ? r.place > Millis::zero() : acquires && (r.detached || !r.note.empty())) return Settled::not_yet;
  const std::string acquire = waits ? "" : known_.contains(r.key.text) ? acquire_ : acquire_ + make_;
  const std::string text = with((acquires                ? acquire
                                 : r.verb == Verb::renew ? renew_
                                                         : release_) +
                                    look_,
                                {{"ahead", acquires ? with(ahead_, named(r)) : "0"},
                                 {"key", hex(r.key.text)},
                                 {"holder", hex(r.owner.text)},
                                 {"token", std::to_string(to_number(r.token))},
                                 {"ttl", digits(length_of(r.ttl))},
                                 {"start", r.extend ? "locked_until" : config_->tables.expand("{clock}")},
                                 {"void_after", std::to_string(void_after(call.until))},
                                 {"patience", wait_at_most(patience)}});
  const Instant sent = BootClock::now();
  const Answers answers = connection_->run(text, call.until);
  // Each statement but the look is committed when it is done.
  const bool done = std::any_of(answers.each.begin(), answers.each.end(),
                                [](const Answer& answer) { return answer.affected > 0; });
  if (answers.trouble && done) throw_failure({Errc::in_doubt, config_->name + ": " + answers.trouble->text});
  if (const Settled settled = check(answers.trouble); settled != Settled::yes) return settled;
  offset_.learn(sent, BootClock::now(), Micros(answers.back().number(0, LookColumn::now_us)));
  return take(r, call.replies[i], answers);
}

MariaStoreConnection::Settled MariaStoreConnection::take(const Request& r, Reply& reply,
                                                         const Answers& answers) {
  Row row = row_in(answers.back());
  for (std::size_t k = 0; k + 1 < answers.each.size(); ++k) {
    if (answers[k].affected == 0) continue;
    const bool released = r.verb == Verb::release;
    const auto given = static_cast<std::int64_t>(answers[k].insert_id);
    if (released) {
      row = {.token = given, .now = row.now};
    } else if (row.token != given || row.owner != r.owner.text || !row.live()) {  // and is over already
      row = {.token = given, .owner = r.owner.text, .end = row.now, .now = row.now};
    }
    answer(reply, released ? Verdict::released : Verdict::granted, row);
    put(known_, r.key.text);
    return Settled::yes;
  }
  const bool absent = answers.back().is_null(0, LookColumn::token);
  if (const auto known = known_.find(r.key.text); absent && known != known_.end()) known_.erase(known);
  if (r.verb == Verb::acquire) {
    const bool taken = row.live() && row.owner != r.owner.text;
    if (!taken || r.place > Millis::zero()) return Settled::not_yet;
    answer(reply, Verdict::busy, row);
    reply.ahead = static_cast<std::uint32_t>(answers.back().number(0, LookColumn::ahead));
    return Settled::yes;
  }
  if (is_theirs(row, r)) return Settled::not_yet;        // since a moment ago
  if (absent && gives_back(r)) return Settled::not_yet;  // an acquire may be making it just now
  answer(reply, Verdict::lost, row);
  return Settled::yes;
}

Values MariaStoreConnection::named(const Request& r) const {
  return {{"key", config_->tables.key(r.key.text)}, {"client", hex(config_->client)}};
}

void MariaStoreConnection::answer_locked(Call& call, std::size_t i) {
  const Answers answers =
      connection_->run(with(with(look_, {{"ahead", ahead_}}), named(call.requests[i])), call.until);
  if (check(answers.trouble) != Settled::yes) throw_failure(statement_error(*answers.trouble, config_->name));
  // Darwin's table has a say in it too.
  answer_as_seen(call, i, row_in(answers.back()), !config_->tables.darwin());
}

}  // namespace holdfast::mariadb
