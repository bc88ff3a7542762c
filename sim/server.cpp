// SPDX-License-Identifier: Apache-2.0
#include "sim/server.h"

#include <cassert>

#include "stores/memory/database.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Moment wall_at_the_beginning(1'000h);

}  // namespace

Server::Server(RunContext& context, Ledger& ledger, Ring ring)
    : context_(context),
      ledger_(ledger),
      clock_(77h, context.plan.store_ppm),
      database_(memory::make_database(
          {.expiry = [this] { return clock_.at(context_.now()); }, .wall = [this] { return wall(); }})),
      last_granted_(static_cast<std::size_t>(context.plan.keys)),
      purged_(static_cast<std::size_t>(context.plan.keys)) {
  database_->on_ring([this, ring = std::move(ring)](const std::string& client, const std::string& key) {
    if (key.starts_with('k')) ring(processes_.at(client), key[1] - '0');
  });
  welcome(Timeline::world);  // the operator
}

Micros Server::now() const {
  return std::chrono::floor<Micros>(clock_.at(context_.now()).time_since_epoch());
}

Moment Server::wall() const {
  return wall_at_the_beginning + wall_step_ + std::chrono::floor<Micros>(context_.now());
}

std::string Server::welcome(Timeline::Owner process) {
  auto store = memory::store(database_);
  auto connection = store->connect(Instant::max());
  auto jobs = store->jobs(Instant::max());
  assert(connection && jobs);
  const std::string name = store->client();
  processes_.emplace(name, process);
  seats_.emplace(process, Seat{std::move(store), *std::move(connection), *std::move(jobs)});
  return name;
}

std::optional<Answer> Server::deliver(Timeline::Owner process, const Letter& letter) {
  Answer answer;
  for (const Message& m : letter.messages) {
    const bool is_void =
        m.verb == Verb::acquire && now() > m.void_at && !context_.is(Mutant::void_time_ignored);
    if (!is_void) {
      answer.replies.push_back(apply(process, m));
      continue;
    }
    context_.note({.process = process, .what = "void on arrival", .key = m.key, .attempt_id = m.attempt_id});
    context_.sometimes(Sometimes::void_on_arrival);
    if (m.attempt_id != no_attempt && ledger_.gave_up(m.attempt_id))
      context_.sometimes(Sometimes::void_acquire_of_a_caller_that_has_gone);
  }
  if (answer.replies.size() != letter.messages.size()) return std::nullopt;
  if (const auto& q = letter.question) {
    auto page = seats_.at(process).connection->list(
        {.what = q->what, .prefix = q->prefix, .exact = q->exact, .limit = q->limit}, Instant::max());
    assert(page);
    answer.page = *std::move(page);
  }
  if (letter.job) answer.job = letter.job(*seats_.at(process).jobs);
  if (letter.purge) answer.purged = purge(letter.purge->free_for);
  answer.now = now();
  return answer;
}

Reply Server::apply(Timeline::Owner process, const Message& message) {
  const Message m = mutated(message);
  if (m.key == another_key) return ask(*seats_.at(process).connection, m);
  Reply reply = ask(*seats_.at(process).connection, m);
  if (m.verb == Verb::acquire && reply.verdict == Verdict::granted) reply.token = mutated(reply.token, m.key);
  static constexpr const char* verbs[] = {"acquire", "renew", "release", "evict"};
  static constexpr const char* verdicts[] = {"granted", "released", "busy", "lost"};
  context_.note({.process = process,
                 .what = verbs[static_cast<int>(m.verb)],
                 .key = m.key,
                 .attempt_id = m.attempt_id,
                 .token = reply.token,
                 .more = verdicts[static_cast<int>(reply.verdict)]});
  ledger_.applied(message, process, reply, now());
  return reply;
}

Reply Server::ask(StoreConnection& connection, const Message& m) const {
  const std::string key = m.key == another_key ? m.lock : text_of(m.key);
  const Request request{.verb = m.verb,
                        .key = {key},
                        .owner = {m.owner},
                        .token = m.token,
                        .ttl = m.ttl,
                        .place = m.place,
                        .longest_place = m.longest_place,
                        .extend = m.extend,
                        .detached = m.detached};
  Reply reply;
  const Status applied = connection.apply({&request, 1}, {&reply, 1}, Instant::max());
  assert(applied);
  return reply;
}

Message Server::mutated(Message m) {
  if (context_.is(Mutant::places_never_end)) m.place *= 10'000;
  if (context_.is(Mutant::released_by_key) && m.verb == Verb::release && m.key != another_key) {
    m.token = no_token;
    if (const auto held = row(m.key)) m.owner = held->owner;
  }
  return m;
}

Token Server::mutated(Token token, int key) {
  Token& last = last_granted_[static_cast<std::size_t>(key)];
  const bool anew = token != last;
  const bool first = last == no_token;
  if (anew) last = token;
  if (!anew || first) return token;
  const bool purged = purged_[static_cast<std::size_t>(key)];
  purged_[static_cast<std::size_t>(key)] = false;
  if (purged) context_.sometimes(Sometimes::token_rose_across_a_purge);
  if (context_.is(Mutant::token_is_the_clock) || (purged && context_.is(Mutant::purged_blindly)))
    return Token{static_cast<std::uint64_t>(wall().time_since_epoch().count())};
  if (context_.is(Mutant::token_restarts) && ledger_.owner_of(key) < 0) return Token{1};
  return token;
}

void Server::break_lease(int key) {
  const auto held = row(key);
  if (!held || held->remaining == Millis::zero()) return;
  context_.note(
      {.process = Timeline::world, .what = "broken by an operator", .key = key, .token = held->token});
  ledger_.broken(key);
  ask(*seats_.at(Timeline::world).connection,
      {.verb = Verb::evict, .key = key, .owner = "operator", .token = held->token});
}

Purged Server::purge(Millis free_for) {
  context_.note({.process = Timeline::world, .what = "purges"});
  std::vector<std::optional<LeaseRow>> before;
  for (int key = 0; key < context_.plan.keys; ++key) before.push_back(row(key));
  const auto purged =
      seats_.at(Timeline::world).store->admin()->purge({.free_for = free_for}, Instant::max());
  assert(purged);
  for (int key = 0; key < context_.plan.keys; ++key) {
    const auto& was = before[static_cast<std::size_t>(key)];
    if (!was || was->remaining > Millis::zero() || was->waiting > 0) continue;
    const bool spared = row(key).has_value();
    if (spared && free_for > Millis::zero()) continue;  // perhaps it was not free for so long
    if (spared) context_.sometimes(Sometimes::spared_by_a_purge);
    if (!spared || context_.is(Mutant::purged_blindly)) purged_[static_cast<std::size_t>(key)] = true;
  }
  return *purged;
}

std::optional<LeaseRow> Server::row(int key) {
  const std::string text = text_of(key);
  auto page =
      seats_.at(Timeline::world)
          .connection->list({.what = Query::What::leases, .prefix = text, .exact = true}, Instant::max());
  assert(page);
  if (page->leases.empty()) return std::nullopt;
  return std::move(page->leases.front());
}

bool Server::backs(int key, const std::string& owner, Token token) {
  const auto held = row(key);
  return held && held->remaining > Millis::zero() && held->owner == owner && held->token == token;
}

bool Server::live(int key) {
  const auto held = row(key);
  return held && held->remaining > Millis::zero();
}

std::optional<JobRow> Server::job(JobId id) {
  auto rows = seats_.at(Timeline::world).jobs->list({.id = id}, Instant::max());
  assert(rows);
  if (rows->empty()) return std::nullopt;
  return std::move(rows->front());
}

bool Server::without_end(int key) {
  const auto held = row(key);
  return held && held->remaining == never;
}

std::vector<Timeline::Owner> Server::waiting(int key) {
  const std::string text = text_of(key);
  const auto page =
      seats_.at(Timeline::world)
          .connection->list({.what = Query::What::places, .prefix = text, .exact = true}, Instant::max());
  assert(page);
  std::vector<Timeline::Owner> processes;
  for (const PlaceRow& place : page->places) processes.push_back(processes_.find(place.client)->second);
  return processes;
}

}  // namespace holdfast::sim
