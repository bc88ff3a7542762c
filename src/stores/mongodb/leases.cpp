// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/leases.h"

#include <algorithm>

#include "core/row.h"
#include "stores/mongodb/leases.json.h"
#include "stores/mongodb/shedlock.json.h"

namespace holdfast::mongodb {
namespace {

// The stage that merges the fields of that expression into the document.
Document merged_with(View expression) {
  Document both, merge, stage;
  both.text("0", "$$ROOT").document("1", Document::copy_of(expression));
  merge.array("$mergeObjects", both.get());
  stage.document("$replaceWith", merge);
  return stage;
}

Micros now_of(const Snapshot& at) { return at.now.value_or(Micros::zero()); }
bool live(const Snapshot& at) { return at.record.live(now_of(at)); }
// A lock of ShedLock's has no token.
bool is_lease(const Snapshot& at) { return live(at) && at.record.token != no_token; }

bool is_theirs(const Request& r, const Snapshot& at) {
  return is_lease(at) && at.record.owner == r.owner.text &&
         (r.verb == Verb::acquire || r.token == no_token || r.token == at.record.token);
}

Reply reply_of(Verdict verdict, const Snapshot& at) {
  return {.verdict = verdict,
          .token = at.record.token,
          .owner = at.record.owner,
          .remaining = live(at) ? core::remaining(at.record.end, now_of(at)) : Millis::zero(),
          .now = StoreTime{now_of(at).count()}};
}

Reply released(const Request& r, const Snapshot& at) {
  Reply reply = reply_of(Verdict::released, at);
  if (r.token != no_token) reply.token = r.token;
  reply.owner.clear();
  reply.remaining = Millis::zero();
  return reply;
}

Reply busy(const Request& r, std::string_view client, const Snapshot& at) {
  Reply reply = reply_of(Verdict::busy, at);
  std::vector<core::Place> queue = at.record.queue;
  std::erase_if(queue, [&](const core::Place& p) { return !core::place_is_live(p.until, now_of(at)); });
  const auto ours =
      std::find_if(queue.begin(), queue.end(), [&](const core::Place& p) { return p.client == client; });
  reply.ahead = static_cast<std::uint32_t>(ours - queue.begin());
  if (!live(at)) {  // free, but not for us
    const auto latest = core::latest_place_end(r, now_of(at));
    const auto first = std::find_if(queue.begin(), queue.end(),
                                    [&](const core::Place& p) { return p.counts(client, latest); });
    reply.owner.clear();
    reply.remaining = first == queue.end() ? Millis(1) : core::remaining(first->until, now_of(at));
  }
  return reply;
}

}  // namespace

LeasePipelines::LeasePipelines(bool beside_shedlock) {
  const Document all = Document::from_json(leases_json);
  const Document beside = beside_shedlock ? Document::from_json(shedlock_json) : Document();
  const View seen = View(beside)["seen"];
  const auto make = [&](Document& made, const char* verb) {
    std::vector<Document> stages;
    if (seen) stages.push_back(merged_with(seen));
    for (const char* part : {"rule", verb})
      for (const View stage : View(all).documents(part)) stages.push_back(Document::copy_of(stage));
    for (const View stage : View(beside).documents("written")) stages.push_back(Document::copy_of(stage));
    made.array("pipeline", stages);
  };
  make(acquire_, "acquire");
  make(renew_, "renew");
  make(release_, "release");
  for (const char* name :
       {"owner", "token", "expires_at", "ttl", "acquired_at", "note", "detached", "queue", "freed"})
    fields_.number(name, 1);
  if (seen) fields_.document("seen", Document::copy_of(seen));
  fields_.text("now", "$$NOW");
}

void LeasePipelines::add_to(Document& command, std::string_view name, Verb verb) const {
  const Document& made = verb == Verb::acquire ? acquire_ : verb == Verb::renew ? renew_ : release_;
  command.array(name, View(made)["pipeline"].as_bson());
}

Snapshot snapshot_of(View document) {
  if (!document) return {};
  Snapshot at{.freed = document.numbers("freed"), .now = document.moment("now")};
  // Beside ShedLock, what its fields say instead.
  const View seen = document["seen"];
  const auto with = [&](const char* name) { return seen && seen.has(name) ? seen : document; };
  core::Record& record = at.record;
  record.owner = with("owner").text("owner");
  if (const View theirs = with("owner")["owner"])
    record.owner = std::string(theirs.text("shedlock")) + " (ShedLock)";
  record.token = Token{static_cast<std::uint64_t>(std::max<std::int64_t>(with("token").number("token"), 0))};
  const View ends = with("expires_at");
  record.end = ends.moment("expires_at");
  if (!record.end && !ends.is_null("expires_at")) record.end = Micros::zero();
  if (const std::int64_t ttl = with("ttl").number("ttl"); ttl > 0) record.ttl = Millis(ttl);
  record.since = with("acquired_at").moment("acquired_at").value_or(Micros::zero());
  record.note = with("note").text("note");
  record.detached = with("detached").flag("detached");
  for (const View place : document.documents("queue"))
    record.queue.push_back({.client = std::string(place.text("client")),
                            .owner = std::string(place.text("holder")),
                            .until = place.moment("until").value_or(Micros::zero())});
  return at;
}

Reply reply_after(const Request& r, std::string_view client, const Snapshot& after) {
  if (is_theirs(r, after)) return reply_of(Verdict::granted, after);
  return r.verb == Verb::acquire ? busy(r, client, after) : reply_of(Verdict::lost, after);
}

Reply reply_before(const Request& r, const Snapshot& before) {
  const bool evicted = r.verb == Verb::evict && is_lease(before) && before.record.token == r.token;
  const bool freed = evicted || (r.verb == Verb::release && is_theirs(r, before));
  return freed ? released(r, before) : reply_of(Verdict::lost, before);
}

Reply reply_by_mark(const Request& r, std::int64_t mark, const Snapshot& after) {
  const bool freed = std::find(after.freed.begin(), after.freed.end(), mark) != after.freed.end();
  return freed ? released(r, after) : reply_of(Verdict::lost, after);
}

}  // namespace holdfast::mongodb
