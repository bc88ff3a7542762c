// SPDX-License-Identifier: Apache-2.0
#include "core/rule.h"

#include <algorithm>

namespace holdfast::core {
namespace {

class Decision {
 public:
  Decision(const Request& request, std::string_view client, Record& record, const LeaseMoment& moment)
      : request_(request),
        client_(client),
        record_(record),
        moment_(moment),
        latest_(latest_place_end(request, moment.now)) {}

  Outcome acquire();
  Outcome renew();
  Outcome release();
  Outcome evict();

 private:
  bool live() const { return record_.live(moment_.now); }
  bool is_theirs() const {
    return live() && record_.owner == request_.owner.text &&
           (request_.token == no_token || request_.token == record_.token);
  }
  bool leave() {
    return std::erase_if(record_.queue, [&](const Place& p) { return p.client == client_; }) != 0;
  }
  bool counts(const Place& place) const { return place.counts(client_, latest_); }
  // Of those that count; null: there is none.
  const Place* first_place() const {
    const auto& queue = record_.queue;
    const auto at = std::find_if(queue.begin(), queue.end(), [&](const Place& p) { return counts(p); });
    return at == queue.end() ? nullptr : &*at;
  }
  std::optional<std::string> first() const {
    const Place* place = first_place();
    return place ? std::optional(place->client) : std::nullopt;
  }
  Reply answer(Verdict verdict) const;
  LogRow event(const char* name) const;
  void set_end(std::optional<Micros> end);
  void prolong();
  Outcome grant();
  Outcome busy();
  Outcome free(Verdict verdict);

  const Request& request_;
  const std::string_view client_;
  Record& record_;
  const LeaseMoment& moment_;
  const std::optional<Micros> latest_;  // end of a place of another client that counts
};

Reply Decision::answer(Verdict verdict) const {
  return {.verdict = verdict,
          .token = record_.token,
          .owner = record_.owner,
          .remaining = live() ? remaining(record_.end, moment_.now) : Millis::zero(),
          .now = StoreTime{moment_.now.count()}};
}

LogRow Decision::event(const char* name) const {
  return {.at = Moment(moment_.wall),
          .key = std::string(request_.key.text),
          .event = name,
          .owner = record_.owner,
          .token = record_.token,
          .by = std::string(request_.owner.text),
          .reason = request_.verb == Verb::evict ? std::string(request_.note) : std::string()};
}

void Decision::set_end(std::optional<Micros> end) {
  record_.end = end;
  record_.ttl = end ? std::optional(remaining(end, moment_.now)) : std::nullopt;
}

// Never for less than it had: an acquire that was held up on its way must not take back what a renewal gave.
void Decision::prolong() {
  if (!record_.end) return;
  const auto end = end_after(request_.extend ? *record_.end : moment_.now, request_.ttl);
  if (!end || *end > *record_.end) set_end(end);
}

Outcome Decision::acquire() {
  if (live() && record_.owner == request_.owner.text) {
    prolong();
    return {.reply = answer(Verdict::granted), .changed = true};
  }
  const Place* next = first_place();
  return !live() && (!next || next->client == client_) ? grant() : busy();
}

Outcome Decision::grant() {
  Outcome outcome{.changed = true};
  if (!record_.owner.empty() && record_.owner != request_.owner.text) outcome.log = event("taken-over");
  if (leave()) outcome.place = Outcome::Place::left;
  std::erase_if(record_.queue, [&](const Place& p) { return !counts(p); });
  const Token last = record_.token == no_token ? moment_.purged : record_.token;
  const auto wall = static_cast<std::uint64_t>(std::max(moment_.wall, Micros::zero()).count());
  record_.owner = request_.owner.text;
  record_.token = Token{std::max(to_number(last) + 1, wall)};
  set_end(end_after(moment_.now, request_.ttl));
  record_.since = moment_.wall;
  record_.note = request_.note;
  record_.detached = request_.detached;
  outcome.reply = answer(Verdict::granted);
  return outcome;
}

Outcome Decision::busy() {
  Outcome outcome{.reply = answer(Verdict::busy)};
  auto& queue = record_.queue;
  auto ours = std::find_if(queue.begin(), queue.end(), [&](const Place& p) { return p.client == client_; });
  outcome.reply.ahead = static_cast<std::uint32_t>(ours - queue.begin());
  if (request_.place > Millis::zero()) {
    if (ours == queue.end()) ours = queue.insert(ours, {.client = std::string(client_)});
    ours->owner = request_.owner.text;
    ours->until = moment_.now + request_.place;
    outcome.place = Outcome::Place::kept;
  }
  if (!live()) {  // free, but not for us
    outcome.reply.owner.clear();
    outcome.reply.remaining = remaining(first_place()->until, moment_.now);
  }
  return outcome;
}

Outcome Decision::renew() {
  if (!is_theirs()) return {.reply = answer(Verdict::lost)};
  prolong();
  return {.reply = answer(Verdict::granted), .changed = true};
}

Outcome Decision::free(Verdict verdict) {
  record_.owner.clear();
  record_.end = moment_.now;
  return {.reply = answer(verdict), .changed = true, .ring = first()};
}

Outcome Decision::release() {
  const bool was_first = first() == client_;
  const bool left = request_.place > Millis::zero() && leave();
  Outcome outcome;
  if (is_theirs()) {
    outcome = free(Verdict::released);
  } else {
    outcome.reply = answer(Verdict::lost);
    if (left && was_first && !live()) outcome.ring = first();  // a free key waits for its next
  }
  if (left) outcome.place = Outcome::Place::left;
  return outcome;
}

Outcome Decision::evict() {
  if (!live() || record_.token != request_.token) return {.reply = answer(Verdict::lost)};
  LogRow broken = event("broken");
  Outcome outcome = free(Verdict::released);
  outcome.log = std::move(broken);
  return outcome;
}

}  // namespace

Outcome decide(const Request& request, std::string_view client, Record& record, const LeaseMoment& moment) {
  std::erase_if(record.queue, [&](const Place& p) { return !place_is_live(p.until, moment.now); });
  Decision decision(request, client, record, moment);
  switch (request.verb) {
    case Verb::acquire: return decision.acquire();
    case Verb::renew: return decision.renew();
    case Verb::release: return decision.release();
    case Verb::evict: return decision.evict();
  }
  return {};
}

}  // namespace holdfast::core
