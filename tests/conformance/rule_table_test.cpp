// SPDX-License-Identifier: Apache-2.0
// Every row of the table in holdfast/spi/store.h, at the tick before, at and after each boundary, on each
// store: the answer, the row and the queue afterwards, and the log are those of core::decide().
//
// The test fixes the clock of the store, so tokens and times are compared exactly.  All cases travel in
// batches; one by one, which are other statements, all of them on an embedded store, and a part elsewhere.
//
// Redis ends leases by itself.  There they are ended as if their time were over, those that end about now are
// left out, and what is left of a lease is compared roughly; places and tokens are compared exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "base/random.h"
#include "base/time.h"
#include "core/rule.h"
#include "tests/conformance/rule_cases.h"
#include "tests/support/fixed_clock.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t largest_batch = 500;
constexpr std::string_view key_prefix = "k";
constexpr int most_told = 10;  // disagreements, of each kind

// Where the server ends leases by itself, those that are to be over later live on until the test ends them.
constexpr Millis longer_life = 10min;

Instant in_time() { return BootClock::now() + 20s; }

// The specification: core::decide() and a map.
struct Model {
  std::map<std::string, core::Record, std::less<>> records = {};
  std::vector<LogRow> log = {};

  Reply apply(const Request& request, const std::string& client, const core::LeaseMoment& moment) {
    core::Outcome outcome = core::decide(request, client, records[std::string(request.key.text)], moment);
    if (outcome.log) log.push_back(*outcome.log);
    return outcome.reply;
  }
};

std::string text(Millis remaining) {
  return remaining == never ? "never" : std::to_string(remaining.count()) + "ms";
}

std::string text(const Reply& reply) {
  static constexpr const char* verdicts[] = {"granted", "released", "busy", "lost"};
  if (reply.error) return "error: " + reply.error->detail;
  return std::string(verdicts[static_cast<int>(reply.verdict)]) + " token " +
         std::to_string(to_number(reply.token)) + " owner '" + reply.owner + "' remaining " +
         text(reply.remaining) + " ahead " + std::to_string(reply.ahead);
}

std::string text(const LeaseRow& row) {
  return "owner '" + row.owner + "' token " + std::to_string(to_number(row.token)) + " remaining " +
         text(row.remaining) + " ttl " + (row.ttl ? text(*row.ttl) : "none") + " since " +
         std::to_string(micros_or_zero(row.since).count()) + " note '" + row.note +
         (row.detached ? "' detached" : "'") + " waiting " + std::to_string(row.waiting);
}

std::string text(const PlaceRow& row) {
  return row.client + " for '" + row.owner + "' remaining " + text(row.remaining);
}

std::string text(const LogRow& row) {
  return std::to_string(row.at.time_since_epoch().count()) + " " + row.event + " '" + row.owner + "' " +
         std::to_string(to_number(row.token)) + " by '" + row.by + "' " + row.reason;
}

class RuleTable : public ::testing::TestWithParam<Kind> {
 protected:
  // `own_names`: the holders' names are those that a client makes, with which a store may know a client.
  void play(bool one_by_one, bool own_names);

 private:
  struct Sent {
    std::size_t number;  // of its case
    const Ask* ask;
    Token token = no_token;
  };

  static std::string key(std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(key_prefix) + std::string(6 - digits.size(), '0') + digits;
  }
  std::string name(const Ask& ask) const {
    if (!own_names_ || (ask.owner != "me" && ask.owner != "them")) return ask.owner;
    return "host:h pid:1 guid:" + clock_->client(ask.who) + "0123456789abcdef";
  }
  void prepare(const std::vector<RuleCase>& cases, const std::vector<std::size_t>& chosen);
  void send(Who who, const std::vector<Sent>& all, std::size_t batch);
  void compare(const Sent& sent, Reply got, const Reply& want);
  void compare_lists();
  template <class Row>
  void compare_rows(const char* what, const std::map<std::string, std::string>& want,
                    const std::vector<Row>& rows);
  // As the model has it, if the store's own clock explains the difference.
  Millis left(Millis got, Millis want) const;
  void disagree(const char* what, const std::string& of_key, const std::string& got, const std::string& want);

  std::unique_ptr<FixedClock> clock_;
  const std::vector<RuleCase>* cases_ = nullptr;
  Model model_;
  bool own_names_ = false;
  std::map<std::string, int> disagreements_;
};

void RuleTable::disagree(const char* what, const std::string& of_key, const std::string& got,
                         const std::string& want) {
  if (++disagreements_[what] > most_told) return;
  const RuleCase& c = (*cases_)[std::stoul(of_key.substr(key_prefix.size()))];
  ADD_FAILURE() << what << " of: " << c.name << "\n  core: " << want << "\n  here: " << got;
}

Millis RuleTable::left(Millis got, Millis want) const {
  constexpr Millis rough = 2 * longer_life;
  const bool ends = got != never && want != never;
  return !clock_->fixes_leases() && ends && std::chrono::abs(got - want) <= rough ? want : got;
}

void RuleTable::compare(const Sent& sent, Reply got, const Reply& want) {
  if (!want.owner.empty() && want.remaining > 1s) got.remaining = left(got.remaining, want.remaining);
  if (text(got) != text(want)) disagree("answer", key(sent.number), text(got), text(want));
  // A store need not tell its clock where there is no lease.
  if (got.now != StoreTime{} && got.now != want.now)
    disagree("clock", key(sent.number), std::to_string(static_cast<std::int64_t>(got.now)),
             std::to_string(static_cast<std::int64_t>(want.now)));
}

void RuleTable::send(Who who, const std::vector<Sent>& all, std::size_t batch) {
  StoreConnection& connection = clock_->connection(who);
  for (std::size_t begin = 0; begin < all.size(); begin += batch) {
    const std::size_t size = std::min(batch, all.size() - begin);
    std::vector<std::string> texts;
    texts.reserve(2 * size);
    std::vector<Request> requests;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const Ask& a = *all[i].ask;
      const bool ends_by_us = !clock_->fixes_leases() && a.ttl == life_until_now;
      const std::string& key_text = texts.emplace_back(key(all[i].number));
      const std::string& owner = texts.emplace_back(name(a));
      requests.push_back({.verb = a.verb,
                          .key = {key_text},
                          .owner = {owner},
                          .token = all[i].token,
                          .ttl = ends_by_us ? a.ttl + longer_life : a.ttl,
                          .place = a.place,
                          .longest_place = a.longest_place,
                          .extend = a.extend,
                          .detached = a.detached,
                          .note = a.note});
    }
    std::vector<Reply> replies(size);
    const Status status = connection.apply(requests, replies, in_time());
    ASSERT_TRUE(status) << status.error().detail;
    for (std::size_t i = 0; i < size; ++i) requests[i].ttl = all[begin + i].ask->ttl;
    for (std::size_t i = 0; i < size; ++i)
      compare(all[begin + i], replies[i], model_.apply(requests[i], clock_->client(who), clock_->moment()));
  }
}

// All keys at once, moment by moment.
void RuleTable::prepare(const std::vector<RuleCase>& cases, const std::vector<std::size_t>& chosen) {
  std::map<Micros, std::map<Who, std::vector<Sent>>> story;
  for (const std::size_t number : chosen) {
    for (const Step& step : cases[number].before)
      if (step.at < 0s) story[step.at][step.ask.who].push_back({number, &step.ask});
  }
  for (const auto& [at, of_clients] : story) {
    clock_->put(at);
    for (const auto& [who, all] : of_clients) send(who, all, largest_batch);
  }
}

template <class Row>
void RuleTable::compare_rows(const char* what, const std::map<std::string, std::string>& want,
                             const std::vector<Row>& rows) {
  std::map<std::string, std::string> got;
  for (const Row& row : rows) got[row.key] += text(row) + "\n";
  for (const auto& [of_key, expected] : want) {
    const auto found = got.find(of_key);
    const std::string seen = found == got.end() ? "none" : found->second;
    if (seen != expected) disagree(what, of_key, seen, expected);
  }
  for (const auto& [of_key, seen] : got)
    if (!want.contains(of_key)) disagree(what, of_key, seen, "none");
}

void RuleTable::compare_lists() {
  StoreConnection& connection = clock_->connection(Who::us);
  const Micros now = clock_->moment().now;
  std::map<std::string, std::string> leases, places;
  for (const auto& [of_key, record] : model_.records) {
    if (record.token == no_token) continue;  // as good as absent
    LeaseRow row{.key = of_key,
                 .owner = record.owner,
                 .token = record.token,
                 .remaining = record.live(now) ? core::remaining(record.end, now) : 0ms,
                 .ttl = record.live(now) ? record.ttl : std::nullopt,
                 .since = moment_or_none(record.since),
                 .note = record.note,
                 .detached = record.detached};
    for (const core::Place& place : record.queue) {
      if (!core::place_is_live(place.until, now)) continue;
      ++row.waiting;
      places[of_key] +=
          text(PlaceRow{of_key, place.client, place.owner, core::remaining(place.until, now)}) + "\n";
    }
    leases[of_key] = text(row) + "\n";
  }
  std::vector<LeaseRow> rows;
  for (bool more = true; more;) {
    const std::string after = rows.empty() ? "" : rows.back().key;
    auto page = connection.list({.prefix = key_prefix, .after = after}, in_time()).value().leases;
    more = page.size() == Query{}.limit;
    rows.insert(rows.end(), page.begin(), page.end());
  }
  std::erase_if(rows, [](const LeaseRow& row) { return row.token == no_token && row.owner.empty(); });
  for (LeaseRow& row : rows) {
    const auto known = model_.records.find(row.key);
    if (known == model_.records.end() || !known->second.live(now)) continue;
    const core::Record& record = known->second;
    const bool ended_by_server = !clock_->fixes_leases() && row.remaining == 0ms;
    row.remaining = left(row.remaining, core::remaining(record.end, now));
    if (ended_by_server) row.ttl = record.ttl;
    if (row.ttl && record.ttl) row.ttl = left(*row.ttl, *record.ttl);
  }
  compare_rows("row", leases, rows);
  compare_rows(
      "queue", places,
      connection.list({.what = Query::What::places, .prefix = key_prefix, .limit = 1'000'000}, in_time())
          .value()
          .places);
  std::map<std::string, std::string> log;
  for (const LogRow& row : model_.log) log[row.key] += text(row) + "\n";
  compare_rows(
      "log", log,
      connection.list({.what = Query::What::log, .prefix = key_prefix, .limit = 1'000'000}, in_time())
          .value()
          .log);
}

void RuleTable::play(bool one_by_one, bool own_names) {
  clock_ = FixedClock::of(GetParam());
  own_names_ = own_names;
  const std::vector<RuleCase> cases = all_rule_cases(clock_->tick());
  cases_ = &cases;
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Jitter random(seed);
  const std::uint64_t one_of = one_by_one && GetParam().server ? 8 : 1;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool about_now = cases[i].ends == Ends::at || cases[i].ends == Ends::after;
    if ((clock_->fixes_leases() || !about_now) && random.below(one_of) == 0) chosen.push_back(i);
  }

  prepare(cases, chosen);
  clock_->put(0s);
  std::vector<Sent> before, asked;
  std::vector<std::string> over;
  for (const std::size_t number : chosen) {
    if (cases[number].ends == Ends::before) over.push_back(key(number));
    for (const Step& step : cases[number].before)
      if (step.at == 0s) before.push_back({number, &step.ask});
  }
  clock_->expire(over);
  send(Who::us, before, one_by_one ? 1 : largest_batch);
  for (const std::size_t number : chosen) {
    const Ask& ask = cases[number].asked;
    const Token last = model_.records[key(number)].token;
    const Token right = last == no_token ? Token{1} : last;
    asked.push_back({number, &ask,
                     ask.token == TokenGiven::none    ? no_token
                     : ask.token == TokenGiven::right ? right
                                                      : Token{to_number(right) + 1}});
  }
  send(Who::us, asked, one_by_one ? 1 : largest_batch);
  compare_lists();
  // Whole milliseconds are listed: seen from a tick later they tell the end exactly.
  clock_->put(clock_->tick());
  compare_lists();
  for (const auto& [what, count] : disagreements_)
    std::cout << what << " disagrees in " << count << " cases\n";
  std::cout << GetParam().name << ": " << chosen.size() << " of " << cases.size() << " cases "
            << (one_by_one ? "one by one" : "in batches") << (own_names ? ", names of our own" : "") << "\n";
  RecordProperty("cases", static_cast<int>(chosen.size()));
}

TEST_P(RuleTable, in_batches_every_case_is_answered_as_core_decides) { play(false, false); }
TEST_P(RuleTable, one_by_one_every_case_is_answered_as_core_decides) { play(true, false); }
// SQLite takes other ways for names by which it knows its own clients.
TEST_P(RuleTable, names_of_our_own_are_answered_alike) { play(true, true); }

// Without the layouts of ancestors, which keep their ancestor's boundary.  Beside ShedLock only its own locks
// have it; on MariaDB that takes minutes, as each request is a transaction.
std::vector<Kind> kinds_of_the_rule() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds,
                [](const Kind& kind) { return kind.name == "active_job_lock" || kind.name == "mongo_lock"; });
  for (Kind& kind : shedlock_kinds())
    if (kind.name != "mariadb_shedlock") kinds.push_back(std::move(kind));
  return kinds;
}
HOLDFAST_ON_STORES(RuleTable, kinds_of_the_rule());

}  // namespace
}  // namespace holdfast::test
