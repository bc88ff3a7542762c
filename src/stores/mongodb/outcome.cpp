// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/outcome.h"

#include <algorithm>

#include "core/row.h"

namespace holdfast::mongodb {
namespace {

Micros now_of(const Seen& seen) { return seen.now.value_or(Micros::zero()); }
bool live(const Seen& seen) { return seen.record.live(now_of(seen)); }

bool is_theirs(const Request& r, const Seen& seen) {
  return live(seen) && seen.record.owner == r.owner.text &&
         (r.verb == Verb::acquire || r.token == no_token || r.token == seen.record.token);
}

Reply reply_of(Verdict verdict, const Seen& seen) {
  return {.verdict = verdict,
          .token = seen.record.token,
          .owner = seen.record.owner,
          .remaining = live(seen) ? core::remaining(seen.record.end, now_of(seen)) : Millis::zero(),
          .now = StoreTime{now_of(seen).count()}};
}

Reply released(const Request& r, const Seen& seen) {
  Reply reply = reply_of(Verdict::released, seen);
  if (r.token != no_token) reply.token = r.token;
  reply.owner.clear();
  reply.remaining = Millis::zero();
  return reply;
}

Reply busy(const Request& r, std::string_view client, const Seen& seen) {
  Reply reply = reply_of(Verdict::busy, seen);
  std::vector<core::Place> queue = seen.record.queue;
  std::erase_if(queue, [&](const core::Place& p) { return !core::place_is_live(p.until, now_of(seen)); });
  const auto ours =
      std::find_if(queue.begin(), queue.end(), [&](const core::Place& p) { return p.client == client; });
  reply.ahead = static_cast<std::uint32_t>(ours - queue.begin());
  if (!live(seen)) {  // free, but not for us
    const auto latest = core::latest_place_end(r, now_of(seen));
    const auto first = std::find_if(queue.begin(), queue.end(),
                                    [&](const core::Place& p) { return p.counts(client, latest); });
    reply.owner.clear();
    reply.remaining = first == queue.end() ? Millis(1) : core::remaining(first->until, now_of(seen));
  }
  return reply;
}

}  // namespace

Document projection(std::optional<Micros> fixed_now) {
  Document fields;
  for (const char* name :
       {"owner", "token", "expires_at", "ttl", "acquired_at", "note", "detached", "queue", "freed"})
    fields.number(name, 1);
  if (fixed_now)
    fields.document("now", Document().moment("$literal", fixed_now));
  else
    fields.text("now", "$$NOW");
  return fields;
}

Seen seen_in(View document) {
  if (!document) return {};
  Seen seen{.freed = document.numbers("freed"), .now = document.moment("now")};
  core::Record& record = seen.record;
  record.owner = document.text("owner");
  record.token = Token{static_cast<std::uint64_t>(std::max<std::int64_t>(document.number("token"), 0))};
  record.end = document.moment("expires_at");
  if (!record.end && !document.is_null("expires_at")) record.end = Micros::zero();
  if (const std::int64_t ttl = document.number("ttl"); ttl > 0) record.ttl = Millis(ttl);
  record.since = document.moment("acquired_at").value_or(Micros::zero());
  record.note = document.text("note");
  record.detached = document.flag("detached");
  for (const View place : document.documents("queue"))
    record.queue.push_back({.client = std::string(place.text("client")),
                            .owner = std::string(place.text("holder")),
                            .until = place.moment("until").value_or(Micros::zero())});
  return seen;
}

Reply judged_after(const Request& r, std::string_view client, const Seen& after) {
  if (is_theirs(r, after)) return reply_of(Verdict::granted, after);
  return r.verb == Verb::acquire ? busy(r, client, after) : reply_of(Verdict::lost, after);
}

Reply judged_before(const Request& r, const Seen& before) {
  const bool evicted = r.verb == Verb::evict && live(before) && before.record.token == r.token;
  const bool freed = evicted || (r.verb == Verb::release && is_theirs(r, before));
  return freed ? released(r, before) : reply_of(Verdict::lost, before);
}

Reply judged_by_mark(const Request& r, std::int64_t mark, const Seen& after) {
  const bool freed = std::find(after.freed.begin(), after.freed.end(), mark) != after.freed.end();
  return freed ? released(r, after) : reply_of(Verdict::lost, after);
}

}  // namespace holdfast::mongodb
