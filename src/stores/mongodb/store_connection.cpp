// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/store_connection.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/random.h"
#include "stores/mongodb/admin.h"

namespace holdfast::mongodb {
namespace {

// A command may hold 100,000 updates and 48 MB; a larger batch would keep others waiting.
constexpr std::size_t most_at_once = 500;

Document by_id(std::string_view key) { return std::move(Document().text("_id", key)); }
Document by_ids(const std::vector<std::string_view>& keys) {
  return std::move(Document().document("_id", Document().texts("$in", keys)));
}

std::vector<std::string_view> keys_of(std::span<const Request> requests, const core::KeyBatch& which) {
  std::vector<std::string_view> keys;
  for (const std::size_t i : which) keys.push_back(requests[i].key.text);
  return keys;
}

// What all those renewals ask for.
Constants constants_of_renewals(std::span<const Request> requests, const core::KeyBatch& which,
                                bool literally) {
  std::vector<Document> renewals;
  for (const std::size_t i : which) {
    const Request& r = requests[i];
    renewals.emplace_back()
        .text("holder", r.owner.text)
        .number("token", static_cast<std::int64_t>(to_number(r.token)))
        .duration("ttl", r.ttl)
        .flag("extend", r.extend);
  }
  Constants all(literally);
  all.texts("keys", keys_of(requests, which)).array("renewals", renewals);
  return all;
}

// No Holdfast client has ever had the key.  A lock of ShedLock's has no token either, but holds the key.
bool leaves_no_token(const Snapshot& at) {
  return at.record.token == no_token && !(at.now && at.record.live(*at.now));
}

bool acquires(const Request& r) { return r.verb == Verb::acquire; }
bool frees(const Request& r) { return r.verb == Verb::release || r.verb == Verb::evict; }

}  // namespace

MongoStoreConnection::MongoStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
    : connection_(std::move(config)), marks_(static_cast<std::int64_t>(random_bits() >> 2)) {
  ready(until);
}

const LeasePipelines& MongoStoreConnection::pipelines() const {
  // Never destroyed: a thread that hangs with its server may read it while the process ends.
  if (connection_.config().beside_shedlock()) {
    static const LeasePipelines& beside = *new LeasePipelines(true);
    return beside;
  }
  static const LeasePipelines& usual = *new LeasePipelines(false);
  return usual;
}

// A server that has closed an idle connection, or was restarted, is connected to again: nothing of the
// caller's has been sent yet.
void MongoStoreConnection::ready(Instant until) {
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  if (!connection_.closed()) return;
  connection_.close();
  try {
    probe_ = probe_server(connection_, until);
  } catch (const Failure&) {
    connection_.close();  // so that the next call probes again
    throw;
  }
  offset_ = {};
  offset_.learn(probe_.sent, probe_.received, probe_.now);
}

void MongoStoreConnection::make_collection(Instant until) {
  if (probe_.has_collection) return;
  try {
    (void)lease_indexes(connection_, true, until);
  } catch (const Failure& failure) {
    // Without them listing is slower: a user who may not create indexes can do all else.
    // But another primary must be examined first.
    const std::int64_t code = connection_.last_code();
    if (code == 0 || is_departure(code)) throw_failure({Errc::unavailable, failure.error().detail});
  }
  probe_.has_collection = true;
}

MongoStoreConnection::Bounds MongoStoreConnection::bounds(Instant until) const {
  const bool stands = connection_.config().fixed_now.has_value();
  return {.void_after = offset_.at_least(until),
          .not_before = stands ? Micros::zero() : offset_.at_least(BootClock::now())};
}

// As in leases.json, in whole milliseconds like there.
bool MongoStoreConnection::Bounds::late(const Snapshot& snapshot) const {
  if (!snapshot.now) return false;
  const bool unknown = leaves_no_token(snapshot);
  return *snapshot.now > std::chrono::floor<Millis>(void_after) ||
         (unknown && *snapshot.now < std::chrono::floor<Millis>(not_before));
}

void MongoStoreConnection::learn(Instant sent, const Snapshot& snapshot) {
  if (snapshot.now) offset_.learn(sent, BootClock::now(), *snapshot.now);
}

Constants MongoStoreConnection::constants(const Request& r, const With& with, bool literally) const {
  if (r.verb == Verb::renew) return constants_of_renewals({&r, 1}, {0}, literally);
  Constants all(literally);
  all.text("holder", r.owner.text);
  all.text("client", connection_.config().client);
  all.text("note", r.note);
  if (r.verb == Verb::acquire) {
    all.duration("ttl", r.ttl);
    all.duration("place", std::min(r.place, Millis(never) - Millis(1)));
    all.duration("longest_place", r.longest_place == never ? Millis::zero() : r.longest_place);
    all.flag("detached", r.detached);
    all.moment("void_after", with.bounds.void_after);
    all.moment("not_before", with.bounds.not_before);
    all.moment("rival_until", with.rival_until);
    all.number("purged", probe_.purged);
  } else {
    all.number("token", static_cast<std::int64_t>(to_number(r.token)));
    all.flag("evict", r.verb == Verb::evict);
    all.flag("leave", r.verb == Verb::release && r.place > Millis::zero());
    all.number("nonce", with.mark);
  }
  return all;
}

Status MongoStoreConnection::apply(std::span<const Request> requests, std::span<Reply> replies,
                                   Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return Status{};
  Call call{.requests = requests, .replies = replies, .until = until};
  for (Reply& reply : replies) reply.error.reset();
  try {
    ready(until);
    if (std::any_of(requests.begin(), requests.end(), acquires)) make_collection(until);
    if (requests.size() == 1) {
      replies[0] = apply_alone(call, requests[0]);
    } else if (connection_.config().beside_the_gem()) {
      for (std::size_t i = 0; i < requests.size(); ++i) apply_own(call, i);
    } else {
      for (const core::KeyBatch& key_batch : core::key_batches(requests)) {
        for (std::size_t from = 0; from < key_batch.size(); from += most_at_once) {
          const auto first = key_batch.begin() + static_cast<std::ptrdiff_t>(from);
          const auto size = static_cast<std::ptrdiff_t>(std::min(most_at_once, key_batch.size() - from));
          apply_key_batch(call, core::KeyBatch(first, first + size));
        }
      }
    }
    return Status{};
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (call.applied) error.code = Errc::in_doubt;
    return error;
  }
}

// Every verb is idempotent, so a request that had no effect is simply sent again.
MongoStoreConnection::Applied MongoStoreConnection::apply_one(const Request& r, Instant until,
                                                              std::optional<Micros> rival_until) {
  for (int again = 0; again < 4; ++again) {
    const With with{.bounds = bounds(until), .rival_until = rival_until};
    const Instant sent = BootClock::now();
    Snapshot snapshot = modify(r, with, until);
    learn(sent, snapshot);
    if (r.verb == Verb::acquire && with.bounds.late(snapshot)) {
      // The server's clock was not where we thought, and may have gone back behind a purge.
      read_state(connection_, probe_, until);
      continue;
    }
    Reply reply =
        frees(r) ? reply_before(r, snapshot) : reply_after(r, connection_.config().client, snapshot);
    return {.reply = std::move(reply), .snapshot = std::move(snapshot)};
  }
  throw_failure(
      {Errc::unavailable, connection_.config().place +
                              ": the server's clock jumped during each of several attempts; check its "
                              "time synchronisation, then try again"});
}

Snapshot MongoStoreConnection::modify(const Request& r, const With& with, Instant until) {
  while (true) {
    Document command;
    command.text("findAndModify", connection_.config().leases()).document("query", by_id(r.key.text));
    pipelines().add_to(command, "update", r.verb);
    command.document("let", constants(r, with, true).all()).document("fields", pipelines().fields());
    command.flag("new", !frees(r)).flag("upsert", r.verb == Verb::acquire);
    try {
      const Document reply = connection_.run(std::move(command), Effect::writes, until);
      return snapshot_of(View(reply)["value"]);
    } catch (const Failure& failure) {
      if (!is_collision(connection_.last_code())) throw;
    }
  }
}

std::vector<bool> MongoStoreConnection::update(Call& call, const core::KeyBatch& key_batch,
                                               const Bounds& bounds, std::int64_t mark, Renewals how) {
  std::vector<Document> updates;
  std::vector<core::KeyBatch> sent;  // with each of them
  core::KeyBatch renewals;
  for (const std::size_t i : key_batch) {
    const Request& r = call.requests[i];
    if (how == Renewals::together && r.verb == Verb::renew && !r.extend) {  // those that may be sent twice
      renewals.push_back(i);
      continue;
    }
    Document& one = updates.emplace_back();
    one.document("q", by_id(r.key.text));
    pipelines().add_to(one, "u", r.verb);
    one.document("c", constants(r, {.bounds = bounds, .mark = mark}, false).all());
    one.flag("upsert", r.verb == Verb::acquire);
    sent.push_back({i});
  }
  if (!renewals.empty()) {  // the server reads one pipeline, not one for each
    const Constants all = constants_of_renewals(call.requests, renewals, false);
    Document& one = updates.emplace_back();
    one.document("q", by_ids(keys_of(call.requests, renewals)));
    pipelines().add_to(one, "u", Verb::renew);
    one.document("c", all.all()).flag("multi", true);
    sent.push_back(std::move(renewals));
  }
  Document command;
  command.text("update", connection_.config().leases()).array("updates", updates).flag("ordered", false);
  const Document reply = connection_.run(std::move(command), Effect::writes, call.until);
  const std::vector<View> errors = View(reply).documents("writeErrors");
  if (errors.size() < updates.size()) call.applied = true;
  std::vector<bool> again(call.requests.size());
  core::KeyBatch apart;
  for (const View error : errors) {
    const auto index = static_cast<std::size_t>(error.number("index"));
    const std::int64_t code = error.number("code");
    const bool many = index < sent.size() && sent[index].size() > 1;
    if (many) call.applied = true;  // it stopped at one, after others
    if (index >= sent.size() || (!is_collision(code) && !is_about_document(code))) {
      connection_.close_if_gone(code);
      throw_failure(write_error(error, connection_.config()));
    }
    const std::size_t first = sent[index].front();
    if (many)
      apart = std::move(sent[index]);
    else if (is_collision(code))
      again[first] = true;
    else
      call.replies[first].error = write_error(error, connection_.config());
  }
  if (apart.empty()) return again;
  const std::vector<bool> more = update(call, apart, bounds, mark, Renewals::apart);
  for (const std::size_t i : apart) again[i] = more[i];
  return again;
}

// A reply holds 16 MB: what did not fit is read again.
std::vector<Snapshot> MongoStoreConnection::find(const Call& call, const core::KeyBatch& key_batch) {
  const StoreConfig& config = connection_.config();
  const std::vector<std::string_view> keys = keys_of(call.requests, key_batch);
  std::vector<Snapshot> found(key_batch.size());
  std::vector<std::string_view> missing = keys;
  while (!missing.empty()) {
    const Document reply =
        connection_.run(find_command(config.leases(), by_ids(missing),
                                     Document().document("projection", pipelines().fields()), missing.size()),
                        Effect::reads, call.until);
    for (const View document : documents_in(reply)) {
      // A key batch has each key once, in bytewise order.
      const auto at = std::lower_bound(keys.begin(), keys.end(), document.text("_id"));
      if (at != keys.end() && *at == document.text("_id"))
        found[static_cast<std::size_t>(at - keys.begin())] = snapshot_of(document);
    }
    const std::size_t before = missing.size();
    missing.clear();
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (!found[k].now) missing.push_back(keys[k]);
    if (missing.size() == before) break;  // they are not there
  }
  return found;
}

void MongoStoreConnection::apply_key_batch(Call& call, const core::KeyBatch& key_batch) {
  if (key_batch.size() == 1) return apply_own(call, key_batch[0]);
  const Bounds within = bounds(call.until);
  const std::int64_t mark = ++marks_;
  const std::vector<bool> again = update(call, key_batch, within, mark, Renewals::together);
  call.applied = true;
  const Instant sent = BootClock::now();
  const std::vector<Snapshot> snapshots = find(call, key_batch);
  for (std::size_t k = 0; k < key_batch.size(); ++k) {
    const Request& r = call.requests[key_batch[k]];
    Reply& reply = call.replies[key_batch[k]];
    learn(sent, snapshots[k]);
    if (reply.error) continue;
    reply = frees(r) ? reply_by_mark(r, mark, snapshots[k])
                     : reply_after(r, connection_.config().client, snapshots[k]);
    // It may have come too late for the server's clock, also to prolong; one that left no token has.
    const bool unclear =
        r.verb == Verb::acquire && (leaves_no_token(snapshots[k]) || within.late(snapshots[k]));
    if (again[key_batch[k]] || unclear) apply_own(call, key_batch[k]);
  }
}

Reply MongoStoreConnection::apply_alone(Call& call, const Request& r) {
  return connection_.config().beside_the_gem() ? apply_beside(call, r) : apply_one(r, call.until).reply;
}

// One of several: if the server refuses its document, the others are still sent.
void MongoStoreConnection::apply_own(Call& call, std::size_t i) {
  const bool applied_before = std::exchange(call.applied, false);
  try {
    call.replies[i] = apply_alone(call, call.requests[i]);
    call.applied = true;
  } catch (const Failure& failure) {
    const bool half_done = call.applied;
    call.applied = applied_before || half_done;
    if (!is_about_document(connection_.last_code())) throw;
    Error error = failure.error();
    if (half_done) error.code = Errc::in_doubt;
    call.replies[i].error = std::move(error);
  }
}

}  // namespace holdfast::mongodb
