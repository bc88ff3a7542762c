// SPDX-License-Identifier: Apache-2.0
// network.h - what lies between the processes and the store, and what it does to messages and rings.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "holdfast/result.h"
#include "sim/message.h"
#include "sim/run_context.h"
#include "sim/server.h"

namespace holdfast::sim {

class Network {
 public:
  // `pause` stops a process for a while.
  Network(RunContext& context, Server& server, std::function<void(Timeline::Owner)> pause)
      : context_(context), server_(server), pause_(std::move(pause)) {}

  using Answered = std::function<void(const Answer&)>;
  // What a connection may learn of a letter it sent; at most one of them, and perhaps none.
  struct Outcome {
    Answered answered;
    std::function<void(Errc)> failed;
  };
  void carry(Timeline::Owner process, Letter letter, Outcome outcome);
  void carry_ring(Timeline::Owner process, std::function<void()> heard);

  // For so long nothing from or to that process gets through; some of it later.
  void hang(Timeline::Owner process, Micros length);
  void hang_store(Micros length) { store_hangs_until_ = context_.now() + length; }

  // Nothing hangs any more.
  void calm_down() {
    hangs_until_.clear();
    store_hangs_until_ = True(0);
  }

  // How long a message takes if nothing happens to it.
  Micros usual_delay() { return context_.dice.spread(Micros(20), context_.plan.longest_delay); }

 private:
  // None: it is lost.
  std::optional<Micros> delay(Timeline::Owner process);
  void set_out(Timeline::Owner process, Letter letter, Micros held_up, Answered answered);
  void arrive(Timeline::Owner process, Letter letter, Answered answered);

  RunContext& context_;
  Server& server_;
  const std::function<void(Timeline::Owner)> pause_;
  std::map<Timeline::Owner, True> hangs_until_;
  True store_hangs_until_{0};
};

}  // namespace holdfast::sim
