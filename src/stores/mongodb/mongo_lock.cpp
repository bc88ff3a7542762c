// SPDX-License-Identifier: Apache-2.0
// Beside the Ruby gem mongo-lock, on its documents: {key, owner, expires_at, ttl}.
//
// Among ourselves our own documents decide, as ever.  Beside each lease of ours lies one of the gem's, so
// that Ruby sees it; and whoever asks looks for Ruby's before and after.  A document of ours also has
// `holdfast`, its owner's name once more: one that Ruby has turned into its own is told by that.
#include <algorithm>
#include <map>

#include "core/row.h"
#include "stores/mongodb/pipelines/rivals.json.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

// Ruby counts by the clock of its own machine.  So long after its end a document of Ruby's still counts.
constexpr Millis margin = 1s;

// The gem knows no lock without end.
constexpr Micros far_away{std::int64_t{1} << 57};

// Neither ours nor asked for by one who calls himself the same.
Document rivals_of(const Constants& let, std::string_view collection, std::int64_t limit) {
  static const Document& text = Document::for_ever(rivals_json);
  Document command;
  command.text("find", collection)
      .document("filter", Document::copy_of(View(text)["filter"]))
      .document("projection", Document::copy_of(View(text)["projection"]))
      .document("sort", Document().number("key", 1))
      .document("let", let.all())
      .number("batchSize", limit)
      .flag("singleBatch", true);
  return command;
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
  let.flag("open", false).length("margin", margin);
  const Document reply =
      connection_.run(rivals_of(let, connection_.config().options.collection, 100), Effect::reads, until);
  std::optional<Rival> last;
  for (const View found : View(reply)["cursor"].documents("firstBatch")) {
    const Micros end = found.moment("expires_at").value_or(Micros::zero()) + margin;
    if (!last || last->until < end)
      last = Rival{std::string(found.text("owner")), end, found.moment("now").value_or(Micros::zero())};
  }
  return last;
}

// Whether a document of that owner is there now, with that end or a later one.
bool MongoStoreConnection::write_theirs(const Request& r, const Seen& seen, bool make, Instant until) {
  const Micros end = seen.record.end.value_or(far_away);
  Document match = in_gem(r.key.text, r.owner.text);
  if (!make) match.document("expires_at", Document().moment("$gt", seen.now));
  // One that was sent before another and is read after it takes nothing back.
  Document times, change;
  times.moment("expires_at", end).moment("ttl", end);
  change.document("$max", times).document("$set", Document().text("holdfast", r.owner.text));
  std::vector<Document> updates(1);
  updates[0].document("q", match).document("u", change).flag("upsert", make);
  Document command;
  command.text("update", connection_.config().options.collection).array("updates", updates);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  for (const View error : View(reply).documents("writeErrors"))
    throw_failure(write_error(error, connection_.config()));
  return View(reply).number("n") > 0;
}

bool MongoStoreConnection::delete_theirs(const Document& match, Instant until) {
  std::vector<Document> deletes(1);
  deletes[0].document("q", match).number("limit", 0);
  Document command;
  command.text("delete", connection_.config().options.collection).array("deletes", deletes);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  return View(reply).number("n") > 0;
}

Reply MongoStoreConnection::settle_beside(Call& call, const Request& r) {
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
    Settled own = settle(r, call.until, other ? std::optional(other->until) : std::nullopt);
    // As pipelines/acquire.json has it: a document of Ruby's whose time was over by then blocks nobody.
    if (other && own.seen.now && *own.seen.now < other->until) return blocked(std::move(own.reply), *other);
    if (own.reply.verdict != Verdict::granted) return own.reply;
    call.applied = true;
    (void)write_theirs(r, own.seen, true, call.until);
    other = rival(r, call.until);
    if (!other) return own.reply;
    // Ruby came at the same moment.  One of us has to step back, and Ruby does not look.
    (void)delete_theirs(in_gem(r.key.text, r.owner.text), call.until);
    const Request back{.verb = Verb::release, .key = r.key, .owner = r.owner, .token = own.reply.token};
    (void)settle(back, call.until);
  }
}

Reply MongoStoreConnection::renew_beside(Call& call, const Request& r) {
  Settled own = settle(r, call.until);
  if (own.reply.verdict != Verdict::granted) return own.reply;
  call.applied = true;
  if (write_theirs(r, own.seen, false, call.until)) return own.reply;
  // Ruby has deleted it, or made it its own.
  const Request back{.verb = Verb::release, .key = r.key, .owner = r.owner, .token = own.reply.token};
  own.reply = settle(back, call.until).reply;
  own.reply.verdict = Verdict::lost;
  return own.reply;
}

// First what decides among us, by the token; then Ruby sees it free.
Reply MongoStoreConnection::free_beside(Call& call, const Request& r) {
  Settled own = settle(r, call.until);
  const core::Record& record = own.seen.record;
  if (own.reply.verdict != Verdict::released) {
    // It may be asked again, after the first time came only half of the way.
    const bool holds = own.seen.now && record.live(*own.seen.now) && record.owner == r.owner.text;
    if (r.verb == Verb::release && !holds)
      (void)delete_theirs(in_gem(r.key.text, r.owner.text).text("holdfast", r.owner.text), call.until);
    return own.reply;
  }
  call.applied = true;
  const bool there = delete_theirs(in_gem(r.key.text, record.owner), call.until);
  if (!there && r.verb == Verb::release) own.reply.verdict = Verdict::lost;  // it had been Ruby's already
  return own.reply;
}

// What Ruby holds has no token, and nobody wrote down since when.  It ends here when it ends for rival().
void MongoStoreConnection::list_theirs(const Query& query, Page& page, Instant until) {
  Constants let(true);
  const std::string_view from = std::max(query.prefix, query.after);
  let.text("from", from).text("to", query.prefix).text("holder", "");
  let.flag("open", !query.exact).length("margin", margin);
  // Of one key Ruby may have several documents, of which one that has just ended may come first.
  const std::size_t least = query.exact ? 100 : 1;
  const auto limit = static_cast<std::int64_t>(std::clamp<std::size_t>(query.limit, least, 10'000));
  const Document reply =
      connection_.run(rivals_of(let, connection_.config().options.collection, limit), Effect::reads, until);
  std::map<std::string, LeaseRow> rows;
  for (LeaseRow& row : page.leases) rows.emplace(row.key, std::move(row));
  for (const View found : View(reply)["cursor"].documents("firstBatch")) {
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
