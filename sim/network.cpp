// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

std::optional<Micros> Network::delay(Timeline::Owner process) {
  Micros delay = usual_delay();
  if (scene_.strikes(Fault::slow_message)) delay += scene_.dice.spread(1ms, 400ms);
  if (scene_.strikes(Fault::stuck_message)) delay += scene_.dice.spread(100ms, 8s);
  const True hangs_until = hangs_until_[process];
  if (scene_.now() < hangs_until) {
    if (scene_.dice.chance(0.5)) return std::nullopt;
    delay += std::chrono::ceil<Micros>(hangs_until - scene_.now());
  }
  return delay;
}

void Network::carry(Timeline::Owner process, std::vector<Message> messages, Outcome outcome) {
  // The worst moment: what it asked for is answered while it sleeps.
  if (scene_.dice.chance(0.2) && scene_.strikes(Fault::paused_process)) pause_(process);
  if (scene_.strikes(Fault::refused_connection)) {
    scene_.timeline.at(scene_.now() + usual_delay(), process,
                       [failed = std::move(outcome.failed)] { failed(Errc::unavailable); });
    return;
  }
  Micros held_up{0};
  if (scene_.strikes(Fault::reset_connection)) {
    scene_.timeline.at(scene_.now() + usual_delay(), process,
                       [failed = std::move(outcome.failed)] { failed(Errc::in_doubt); });
    outcome.answered = [](auto&&) {};
    held_up = scene_.dice.spread(20us, 2s);
  }
  if (scene_.strikes(Fault::doubled_request)) {
    std::vector<Message> copies = messages;
    for (Message& m : copies) m.copy = true;
    set_out(process, std::move(copies), scene_.dice.spread(20us, 2s), [](auto&&) {});
  }
  if (scene_.strikes(Fault::lost_request)) return;
  set_out(process, std::move(messages), held_up, std::move(outcome.answered));
}

void Network::set_out(Timeline::Owner process, std::vector<Message> messages, Micros held_up,
                      Answered answered) {
  const auto takes = delay(process);
  if (!takes) return;
  scene_.timeline.at(scene_.now() + *takes + held_up, Timeline::world,
                     [this, process, messages = std::move(messages), answered = std::move(answered)] {
                       arrive(process, messages, answered);
                     });
}

void Network::arrive(Timeline::Owner process, std::vector<Message> messages, Answered answered) {
  Timeline& timeline = scene_.timeline;
  if (scene_.now() < store_hangs_until_) {
    timeline.at(store_hangs_until_, Timeline::world,
                [this, process, messages = std::move(messages), answered = std::move(answered)] {
                  arrive(process, messages, answered);
                });
    return;
  }
  auto replies = server_.deliver(process, messages);
  if (!replies || scene_.strikes(Fault::lost_reply)) return;
  if (const auto takes = delay(process)) {
    timeline.at(scene_.now() + *takes, process,
                [replies = *std::move(replies), answered = std::move(answered)] { answered(replies); });
  }
}

void Network::carry_ring(Timeline::Owner process, std::function<void()> heard) {
  if (scene_.strikes(Fault::lost_ring)) return;
  const int times = scene_.strikes(Fault::doubled_ring) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    Micros takes = usual_delay();
    if (scene_.strikes(Fault::late_ring)) takes += scene_.dice.spread(1ms, 5s);
    scene_.timeline.at(scene_.now() + takes, process, heard);
  }
}

void Network::hang(Timeline::Owner process, Micros length) { hangs_until_[process] = scene_.now() + length; }

}  // namespace holdfast::sim
