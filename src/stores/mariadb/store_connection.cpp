// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/store_connection.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "core/rule.h"
#include "stores/mariadb/layouts.h"
#include "stores/mariadb/leases.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using core::answer;
using core::gives_back;
using core::length_of;
using core::Outcome;
using core::Row;
using rows::is_theirs;

constexpr std::size_t many_keys = 10'000;

// Of read_lease and read_lease_and_position.
struct LeaseColumn {
  enum : std::size_t { now_us, token, owner, until_us, ahead };
};

// Answers behind those of `begin`; then those that only some texts ask for.
struct BatchAnswer {
  enum : std::size_t { leases = 2, foreign = leases + LockedLeases::answers };
};

Row row_in(const Answer& a) {
  return {.token = a.number(0, LeaseColumn::token),
          .owner = a.text(0, LeaseColumn::owner),
          .end = a.moment(0, LeaseColumn::until_us),
          .now = Micros(a.number(0, LeaseColumn::now_us))};
}

// Another transaction has locked a row that everybody sees.
bool is_locked(const LockedLeases& leases, const Answer& committed) {
  const auto existing = std::count_if(leases.keys.begin(), leases.keys.end(),
                                      [](const auto& entry) { return entry.second.exists; });
  return static_cast<std::size_t>(existing) < committed.rows.size();
}

}  // namespace

MariaStoreConnection::MariaStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), tables_(config_->tables) {
  connect(until);
}

void MariaStoreConnection::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*config_, until);
  ServerProbe probe = probe_server(*connection, *config_, until);
  require_complete(probe, *config_);
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  tables_ = config_->tables.with_ttl(probe.ttl);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
}

std::optional<Error> MariaStoreConnection::misfit(const Request& r) const {
  const bool collated = tables_.foreign() != nullptr;
  const auto too_long = [&](std::string_view text, std::size_t longest, const char* unit,
                            const char* column) {
    return does_not_fit(text, longest, unit, column, tables_.name_of("locks"));
  };
  if ((collated ? rows::letters_in(r.key.text) : r.key.text.size()) > probe_.longest_key)
    return too_long(r.key.text, probe_.longest_key, collated ? "letters" : "bytes", "key");
  if (r.verb == Verb::acquire && r.owner.text.size() > probe_.longest_owner)
    return too_long(r.owner.text, probe_.longest_owner, "bytes", "locked_by");
  return std::nullopt;
}

MariaStoreConnection::Settled MariaStoreConnection::check(const std::optional<Trouble>& trouble) const {
  if (!trouble) return Settled::yes;
  if (was_overtaken(trouble->code)) return Settled::not_yet;
  if (was_locked(trouble->code)) return Settled::in_the_way;
  Error error = statement_error(*trouble, config_->name);
  if (was_about_values(trouble->code)) throw rows::NotTaken(std::move(error));
  throw_failure(std::move(error));
}

std::vector<core::KeyBatch> MariaStoreConnection::key_batches_of(std::span<const Request> requests) const {
  if (tables_.foreign() == nullptr) return core::key_batches(requests);
  // Which keys are one is the collation's to say: each travels alone, in the order given.
  std::vector<core::KeyBatch> key_batches;
  for (std::size_t i = 0; i < requests.size(); ++i) key_batches.push_back({i});
  return key_batches;
}

void MariaStoreConnection::put(Keys& keys, std::string_view key) {
  if (keys.size() >= many_keys) keys.clear();
  keys.emplace(key);
}

// -- one request in one text

std::string MariaStoreConnection::statements_for(const Request& r, const Values& values) const {
  // Where we have a position somebody waits: we do.  Then to read is all that most polls need.
  const bool waits = waited_for_.contains(r.key.text);
  const bool keeps_position = r.place > Millis::zero();
  switch (r.verb) {
    case Verb::acquire:
      if (waits ? keeps_position : r.detached || !r.note.empty()) return {};
      return (waits ? "" : tables_.sql(Sql::acquire, values)) +
             (waits || known_.contains(r.key.text) ? "" : tables_.sql(Sql::acquire_new, values)) +
             tables_.sql(Sql::read_lease_and_position, values);
    case Verb::renew:
      return tables_.sql(r.extend ? Sql::extend : Sql::renew, values) + tables_.sql(Sql::read_lease, values);
    case Verb::release:
      if (keeps_position) return {};
      return tables_.sql(Sql::release, values) + tables_.sql(Sql::read_lease, values);
    case Verb::evict: return {};
  }
  return {};
}

MariaStoreConnection::Settled MariaStoreConnection::settle(Call& call, std::size_t i, Millis patience) {
  const Request& r = call.requests[i];
  const std::string text = statements_for(r, {{"key", tables_.key(r.key.text)},
                                              {"client", hex(config_->client)},
                                              {"owner", hex(r.owner.text)},
                                              {"token", std::to_string(to_number(r.token))},
                                              {"ttl", digits(length_of(r.ttl))},
                                              {"void_after", std::to_string(void_after(call.until))},
                                              {"patience", probe_.wait_at_most(patience)}});
  if (text.empty()) return Settled::not_yet;
  const Instant sent = BootClock::now();
  const Answers answers = connection_->run(text, call.until);
  // Each statement that writes is committed when it is done.
  const bool done = std::any_of(answers.each.begin(), answers.each.end(),
                                [](const Answer& answer) { return answer.affected > 0; });
  if (answers.trouble && done) throw_failure({Errc::in_doubt, config_->name + ": " + answers.trouble->text});
  if (const Settled settled = check(answers.trouble); settled != Settled::yes) return settled;
  offset_.learn(sent, BootClock::now(), Micros(answers.back().number(0, LeaseColumn::now_us)));
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
  const bool absent = answers.back().is_null(0, LeaseColumn::token);
  if (const auto known = known_.find(r.key.text); absent && known != known_.end()) known_.erase(known);
  if (r.verb == Verb::acquire) {
    const bool taken = row.live() && row.owner != r.owner.text;
    if (!taken || r.place > Millis::zero()) return Settled::not_yet;
    answer(reply, Verdict::busy, row);
    reply.ahead = static_cast<std::uint32_t>(answers.back().number(0, LeaseColumn::ahead));
    return Settled::yes;
  }
  if (is_theirs(row, r)) return Settled::not_yet;        // since a moment ago
  if (absent && gives_back(r)) return Settled::not_yet;  // an acquire may be inserting it just now
  answer(reply, Verdict::lost, row);
  return Settled::yes;
}

void MariaStoreConnection::answer_locked(Call& call, std::size_t i) {
  const Answers answers = connection_->run(
      tables_.sql(Sql::read_lease_and_position,
                  {{"key", tables_.key(call.requests[i].key.text)}, {"client", hex(config_->client)}}),
      call.until);
  if (check(answers.trouble) != Settled::yes) throw_failure(statement_error(*answers.trouble, config_->name));
  // The other program's table has a say in it too.
  answer_as_seen(call, i, row_in(answers.back()), tables_.foreign() == nullptr);
}

// -- many requests, one for each key, in one transaction

void MariaStoreConnection::roll_back(Instant until) {
  const Answers done = connection_->run(tables_.sql(Sql::roll_back), until);
  if (done.trouble) throw_failure(statement_error(*done.trouble, config_->name));
}

Answers MariaStoreConnection::begin(const Call& call, const Indices& key_batch, Millis patience,
                                    Locked locked) {
  std::string keys;
  for (const std::size_t i : key_batch)
    keys += (keys.empty() ? "" : ", ") + tables_.key(call.requests[i].key.text);
  const bool skips = locked == Locked::skip;
  const Values values = {{"keys", keys},
                         {"skip_locked", skips ? "SKIP LOCKED" : ""},
                         {"patience", probe_.wait_at_most(patience)}};
  std::string text = tables_.sql(Sql::begin) + tables_.sql(Sql::lock_leases, values);
  if (tables_.foreign() != nullptr)
    text += tables_.sql(tables_.foreign()->lock_row,
                        {{"key", keys}, {"patience", probe_.wait_at_most(patience)}});
  if (skips) text += tables_.sql(Sql::read_committed_leases, values);
  try {
    return connection_->run(text, call.until);
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
  const std::span<const Answer> read =
      std::span(answers.each).subspan(BatchAnswer::leases, LockedLeases::answers);
  if (!has_state(read)) {
    roll_back(call.until);
    throw_failure({Errc::unprepared, no_state_row(*config_)});
  }
  LockedLeases leases = leases_in(read, keys, tables_.foreign() != nullptr);
  offset_.learn(sent, BootClock::now(), leases.moment.now);
  if (locked == Locked::skip && is_locked(leases, answers.back())) {
    roll_back(call.until);
    return Settled::in_the_way;
  }
  Writes writes(tables_);
  for (const std::size_t i : key_batch) {
    const Request& r = call.requests[i];
    LockedLease& lease = leases.keys.find(r.key.text)->second;
    std::unique_ptr<ForeignRow> beside;
    if (const ForeignLayout* const foreign = tables_.foreign())
      beside =
          foreign->read(answers[BatchAnswer::foreign], lease.record, leases.moment.now, probe_.longest_mark);
    const LockedLease before = lease;
    Outcome outcome = core::decide(r, config_->client, lease.record, leases.moment);
    if (beside) beside->correct(outcome);
    writes.add(r, before, lease.record, outcome, config_->client, leases.moment.now);
    if (beside && outcome.changed)
      writes.add(beside->write(r.key.text, before.record, lease.record, leases.moment.now, tables_));
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
  const Answers done = connection_->run(writes.text() + commit_in_time(tables_, void_after(until)), until);
  if (done.trouble) roll_back(until);
  if (done.trouble && done.trouble->code == too_late)
    throw_failure({Errc::unavailable, config_->name + ": timed out before the commit"});
  return check(done.trouble);
}

void MariaStoreConnection::remember(const Request& r, const Reply& reply) {
  const bool busy = reply.verdict == Verdict::busy;
  if (busy && r.place > Millis::zero()) put(waited_for_, r.key.text);
  if (const auto key = waited_for_.find(r.key.text); !busy && key != waited_for_.end())
    waited_for_.erase(key);
}

}  // namespace holdfast::mariadb
