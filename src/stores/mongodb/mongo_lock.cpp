// SPDX-License-Identifier: Apache-2.0
// Beside the Ruby gem mongo-lock, on its documents: {key, owner, expires_at, ttl}.
//
// Among Holdfast processes, Holdfast's own documents decide.  Each lease also has a document of the gem, so
// that Ruby sees it; and an acquire looks for Ruby's documents before and after.  The field `holdfast` of
// such a document repeats its owner: if the two differ, Ruby has made the document its own.
#include <algorithm>
#include <map>

#include "core/row.h"
#include "stores/mongodb/leases.json.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

// Ruby uses the clock of its own machine.  A document of Ruby's still counts so long after its end.
constexpr Millis margin = 1s;

// The gem has no lock without end.
constexpr Micros far_away{std::int64_t{1} << 57};

Document rivals_of(const Constants& let, std::string_view collection, std::size_t limit) {
  static const Document& text = Document::for_ever(leases_json);
  Document fields, more;
  fields.number("key", 1).number("owner", 1).number("expires_at", 1).text("now", "$$NOW");
  more.document("projection", fields)
      .document("sort", Document().number("key", 1))
      .document("let", let.all());
  return find_command(collection, Document::copy_of(View(text)["rivals"]), more, limit);
}

Document in_gem(std::string_view key, std::string_view owner) {
  Document match;
  match.text("key", key).text("owner", owner);
  return match;
}

}  // namespace

std::optional<MongoStoreConnection::Rival> MongoStoreConnection::rival(const Request& r, Instant until) {
  Constants let(true);
  let.text("from", r.key.text).text("to", r.key.text).text("holder", r.owner.text);
  let.flag("open", false).duration("margin", margin);
  const Document reply =
      connection_.run(rivals_of(let, connection_.config().options.collection, 100), Effect::reads, until);
  std::optional<Rival> last;
  for (const View found : documents_in(reply)) {
    const Micros end = found.moment("expires_at").value_or(Micros::zero()) + margin;
    if (!last || last->until < end)
      last = Rival{std::string(found.text("owner")), end, found.moment("now").value_or(Micros::zero())};
  }
  return last;
}

// Whether a document of that owner is there now, with that end or a later one.
bool MongoStoreConnection::write_theirs(const Request& r, const Snapshot& snapshot, bool make,
                                        Instant until) {
  const Micros end = snapshot.record.end.value_or(far_away);
  Document match = in_gem(r.key.text, r.owner.text);
  if (!make) match.document("expires_at", Document().moment("$gt", snapshot.now));
  // One that was sent before another and is read after it takes nothing back.
  Document times, change;
  times.moment("expires_at", end).moment("ttl", end);
  change.document("$max", times).document("$set", Document().text("holdfast", r.owner.text));
  Document one;
  one.document("q", match).document("u", change).flag("upsert", make);
  const StoreConfig& config = connection_.config();
  const Document reply =
      connection_.run(update_command(config.options.collection, std::move(one)), Effect::writes, until);
  throw_write_errors(reply, config);
  return View(reply).number("n") > 0;
}

bool MongoStoreConnection::delete_theirs(const Document& match, Instant until) {
  const Document reply = connection_.run(delete_command(connection_.config().options.collection, match, 0),
                                         Effect::writes, until);
  return View(reply).number("n") > 0;
}

Reply MongoStoreConnection::apply_beside(Call& call, const Request& r) {
  Reply reply = r.verb == Verb::acquire ? acquire_beside(call, r)
                : r.verb == Verb::renew ? renew_beside(call, r)
                                        : free_beside(call, r);
  call.applied = true;
  return reply;
}

Reply MongoStoreConnection::acquire_beside(Call& call, const Request& r) {
  const auto blocked = [](Reply reply, const Rival& rival) {
    if (reply.verdict == Verdict::busy && !reply.owner.empty()) return reply;  // one of us, still
    reply.verdict = Verdict::busy;
    reply.owner = rival.owner;
    reply.remaining = core::remaining(rival.until, rival.now);
    return reply;
  };
  std::optional<Rival> other = rival(r, call.until);
  while (true) {
    Applied own = apply_one(r, call.until, other ? std::optional(other->until) : std::nullopt);
    // As in leases.json: a document of Ruby's whose time was over by then blocks nobody.
    if (other && own.snapshot.now && *own.snapshot.now < other->until)
      return blocked(std::move(own.reply), *other);
    if (own.reply.verdict != Verdict::granted) return own.reply;
    call.applied = true;
    (void)write_theirs(r, own.snapshot, true, call.until);
    other = rival(r, call.until);
    if (!other) return own.reply;
    // Ruby came at the same moment.  One of the two has to give up, and Ruby does not check.
    (void)delete_theirs(in_gem(r.key.text, r.owner.text), call.until);
    const Request back{.verb = Verb::release, .key = r.key, .owner = r.owner, .token = own.reply.token};
    (void)apply_one(back, call.until);
  }
}

Reply MongoStoreConnection::renew_beside(Call& call, const Request& r) {
  Applied own = apply_one(r, call.until);
  if (own.reply.verdict != Verdict::granted) return own.reply;
  call.applied = true;
  if (write_theirs(r, own.snapshot, false, call.until)) return own.reply;
  // Ruby has deleted it, or made it its own.
  const Request back{.verb = Verb::release, .key = r.key, .owner = r.owner, .token = own.reply.token};
  own.reply = apply_one(back, call.until).reply;
  own.reply.verdict = Verdict::lost;
  return own.reply;
}

// First Holdfast's own document, by the token; then the gem's, so that Ruby sees the key free.
Reply MongoStoreConnection::free_beside(Call& call, const Request& r) {
  Applied own = apply_one(r, call.until);
  const core::Record& record = own.snapshot.record;
  if (own.reply.verdict != Verdict::released) {
    // The request may be a repetition, after the first one was interrupted half way.
    const bool holds = own.snapshot.now && record.live(*own.snapshot.now) && record.owner == r.owner.text;
    if (r.verb == Verb::release && !holds)
      (void)delete_theirs(in_gem(r.key.text, r.owner.text).text("holdfast", r.owner.text), call.until);
    return own.reply;
  }
  call.applied = true;
  const bool there = delete_theirs(in_gem(r.key.text, record.owner), call.until);
  if (!there && r.verb == Verb::release) own.reply.verdict = Verdict::lost;  // it had been Ruby's already
  return own.reply;
}

// A lock of Ruby has no token, and nobody has recorded since when it is held.  It ends when rival() says so.
void MongoStoreConnection::list_theirs(const Query& query, Page& page, Instant until) {
  Constants let(true);
  const std::string_view from = std::max(query.prefix, query.after);
  let.text("from", from).text("to", query.prefix).text("holder", "");
  let.flag("open", !query.exact).duration("margin", margin);
  // Of one key Ruby may have several documents, of which one that has just ended may come first.
  const std::size_t least = query.exact ? 100 : 1;
  const auto limit = std::clamp<std::size_t>(query.limit, least, 10'000);
  const Document reply =
      connection_.run(rivals_of(let, connection_.config().options.collection, limit), Effect::reads, until);
  std::map<std::string, LeaseRow> rows;
  for (LeaseRow& row : page.leases) rows.emplace(row.key, std::move(row));
  for (const View found : documents_in(reply)) {
    const std::string_view key = found.text("key");
    if (!key.starts_with(query.prefix)) break;
    if (key <= query.after && !query.after.empty()) continue;
    const Micros end = found.moment("expires_at").value_or(Micros::zero()) + margin;
    const Millis remaining = core::remaining(end, found.moment("now").value_or(Micros::zero()));
    const auto [at, is_new] = rows.try_emplace(std::string(key));
    LeaseRow& row = at->second;
    const bool ours = row.token != no_token && row.remaining > Millis::zero();
    if (ours || (!is_new && row.remaining >= remaining)) continue;  // of several of Ruby's, the last to end
    row = {.key = std::string(key),
           .owner = std::string(found.text("owner")),
           .remaining = remaining,
           .note = {},
           .waiting = row.waiting};
  }
  page.leases.clear();
  for (auto& [key, row] : rows)
    if (page.leases.size() < query.limit) page.leases.push_back(std::move(row));
}

}  // namespace holdfast::mongodb
