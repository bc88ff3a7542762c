// SPDX-License-Identifier: Apache-2.0
#include "sim/line.h"

#include <algorithm>

namespace holdfast::sim {

Task<Result<std::vector<Reply>>> Line::apply(std::vector<Message> messages, Instant until) {
  Call call{.id = ++calls_, .messages = std::move(messages), .until = until, .result = {}, .parking = {}};
  queue_.push_back(&call);
  if (in_flight_.empty())
    lead();
  else
    context_.timeline.at(std::max(clock_.when(until), context_.now()), process_,
                         [this, id = call.id] { give_up(id); });
  co_await call.parking.stand();
  co_return *std::move(call.result);
}

// Its time is over, and nobody has taken it along.
void Line::give_up(std::uint64_t id) {
  const auto call = std::find_if(queue_.begin(), queue_.end(), [&](const Call* c) { return c->id == id; });
  if (call == queue_.end()) return;
  Call* const late = *call;
  queue_.erase(call);
  context_.sometimes(Sometimes::unsent_behind_a_hung_call);
  late->result = Error{Errc::unavailable,
                       "timed out before the request could be sent: the store was busy with other calls"};
  late->parking.let_go();
}

void Line::lead() {
  if (queue_.empty()) return;
  const Instant until = queue_.front()->until;
  std::vector<Message> messages;
  while (!queue_.empty() && (in_flight_.empty() || queue_.front()->until >= until)) {
    Call* const call = queue_.front();
    queue_.pop_front();
    in_flight_.push_back(call);
    messages.insert(messages.end(), call->messages.begin(), call->messages.end());
  }
  const auto acquires = std::count_if(messages.begin(), messages.end(),
                                      [](const Message& m) { return m.verb == Verb::acquire; });
  if (acquires > 1) context_.sometimes(Sometimes::acquires_of_several_threads_in_one_batch);
  transmit(std::move(messages), until);
}

// Opening a connection asks the store for its time.
void Line::connect() {
  connected_ = true;
  const Micros delay = network_.usual_delay();
  offset_.learn(now() - 2 * delay, now(), server_.now() - delay);
}

void Line::transmit(std::vector<Message> messages, Instant until) {
  if (!connected_) connect();
  const std::uint64_t batch = ++batch_;
  sent_ = now();
  for (Message& m : messages) {
    if (m.verb == Verb::release) ledger_.release_sent(m.attempt_id);
    if (m.verb != Verb::acquire) continue;
    m.void_at = offset_.at_least(until);
    ledger_.sent(m.attempt_id, m.void_at);
  }
  context_.timeline.at(std::max(clock_.when(until), context_.now()), process_,
                       [this, batch] { failed(batch, Errc::in_doubt); });
  network_.carry(process_, std::move(messages),
                 {.answered = [this, batch](const std::vector<Reply>& replies) { answered(batch, replies); },
                  .failed = [this, batch](Errc code) { failed(batch, code); }});
}

void Line::answered(std::uint64_t batch, const std::vector<Reply>& replies) {
  if (batch != batch_ || in_flight_.empty()) return;
  offset_.learn(sent_, now(), Micros(static_cast<std::int64_t>(replies.front().now)));
  auto next = replies.begin();
  for (Call* const call : in_flight_) {
    const auto end = next + static_cast<std::ptrdiff_t>(call->messages.size());
    call->result = std::vector<Reply>(next, end);
    next = end;
  }
  settle(std::exchange(in_flight_, {}));
}

void Line::failed(std::uint64_t batch, Errc code) {
  if (batch != batch_ || in_flight_.empty()) return;
  connected_ = false;  // whatever that connection still has in flight, nobody waits for it any more
  for (Call* const call : in_flight_) call->result = Error{code, "no answer"};
  settle(std::exchange(in_flight_, {}));
}

// The next batch leaves before those who have their answers ask for more.
void Line::settle(std::vector<Call*> calls) {
  lead();
  for (Call* const call : calls) call->parking.let_go();
}

}  // namespace holdfast::sim
