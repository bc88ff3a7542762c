// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

std::optional<Micros> Network::delay(Timeline::Owner process) {
  Micros delay = usual_delay();
  if (context_.strikes(Fault::slow_message)) delay += context_.dice.spread(1ms, 400ms);
  if (context_.strikes(Fault::stuck_message)) delay += context_.dice.spread(100ms, 8s);
  const True hangs_until = hangs_until_[process];
  if (context_.now() < hangs_until) {
    if (context_.dice.chance(0.5)) return std::nullopt;
    delay += std::chrono::ceil<Micros>(hangs_until - context_.now());
  }
  return delay;
}

void Network::carry(Timeline::Owner process, Letter letter, Outcome outcome) {
  for (Message& m : letter.messages) m.sent = context_.now();
  // The worst moment: what it asked for is answered while it sleeps.
  if (context_.dice.chance(0.2) && context_.strikes(Fault::paused_process)) pause_(process);
  if (context_.strikes(Fault::refused_connection)) {
    context_.timeline.at(context_.now() + usual_delay(), process,
                         [failed = std::move(outcome.failed)] { failed(Errc::unavailable); });
    return;
  }
  Micros held_up{0};
  if (context_.strikes(Fault::reset_connection)) {
    context_.timeline.at(context_.now() + usual_delay(), process,
                         [failed = std::move(outcome.failed)] { failed(Errc::in_doubt); });
    outcome.answered = [](auto&&) {};
    held_up = context_.dice.spread(20us, 2s);
  }
  // An enqueue that is delivered twice makes two jobs; a claim claims two by one name, as job_engine.h says.
  if ((!letter.job || letter.job_may_be_doubled) && context_.strikes(Fault::doubled_request)) {
    Letter copy = letter;
    for (Message& m : copy.messages) m.copy = true;
    set_out(process, std::move(copy), context_.dice.spread(20us, 2s), [](auto&&) {});
  }
  if (context_.strikes(Fault::lost_request)) return;
  set_out(process, std::move(letter), held_up, std::move(outcome.answered));
}

void Network::set_out(Timeline::Owner process, Letter letter, Micros held_up, Answered answered) {
  const auto takes = delay(process);
  if (!takes) return;
  context_.timeline.at(context_.now() + *takes + held_up, Timeline::world,
                       [this, process, letter = std::move(letter), answered = std::move(answered)] {
                         arrive(process, letter, answered);
                       });
}

void Network::arrive(Timeline::Owner process, Letter letter, Answered answered) {
  Timeline& timeline = context_.timeline;
  if (context_.now() < store_hangs_until_) {
    timeline.at(store_hangs_until_, Timeline::world,
                [this, process, letter = std::move(letter), answered = std::move(answered)] {
                  arrive(process, letter, answered);
                });
    return;
  }
  auto answer = server_.deliver(process, letter);
  if (!answer || context_.strikes(Fault::lost_reply)) return;
  if (const auto takes = delay(process)) {
    timeline.at(context_.now() + *takes, process,
                [answer = *std::move(answer), answered = std::move(answered)] { answered(answer); });
  }
}

void Network::carry_ring(Timeline::Owner process, std::function<void()> heard) {
  if (context_.strikes(Fault::lost_ring)) return;
  const int times = context_.strikes(Fault::doubled_ring) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    Micros takes = usual_delay();
    if (context_.strikes(Fault::late_ring)) takes += context_.dice.spread(1ms, 5s);
    context_.timeline.at(context_.now() + takes, process, heard);
  }
}

void Network::hang(Timeline::Owner process, Micros length) {
  hangs_until_[process] = context_.now() + length;
}

}  // namespace holdfast::sim
