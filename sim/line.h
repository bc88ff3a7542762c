// SPDX-License-Identifier: Apache-2.0
// line.h - one connection of a process, shared by its threads: one batch at a time, the first sends what
// has queued behind it.  What Batched and Connection are to a real client.
#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "core/timing.h"
#include "holdfast/result.h"
#include "sim/ledger.h"
#include "sim/network.h"
#include "sim/task.h"

namespace holdfast::sim {

class Line {
 public:
  Line(RunContext& context, Network& network, Server& server, Ledger& ledger, Timeline::Owner process,
       const DriftingClock& clock, core::StoreOffset& offset)
      : context_(context),
        network_(network),
        server_(server),
        ledger_(ledger),
        process_(process),
        clock_(clock),
        offset_(offset) {}

  // As StoreConnection::apply.
  Task<Result<std::vector<Reply>>> apply(std::vector<Message> messages, Instant until);

 private:
  struct Call {
    std::uint64_t id;
    std::vector<Message> messages;
    Instant until;
    std::optional<Result<std::vector<Reply>>> result;
    Parking parking;
  };
  Instant now() const { return clock_.at(context_.now()); }
  void lead();
  void connect();
  void transmit(std::vector<Message> messages, Instant until);
  void answered(std::uint64_t batch, const std::vector<Reply>& replies);
  void failed(std::uint64_t batch, Errc code);
  void settle(std::vector<Call*> calls);
  void give_up(std::uint64_t id);

  RunContext& context_;
  Network& network_;
  Server& server_;
  Ledger& ledger_;
  const Timeline::Owner process_;
  const DriftingClock& clock_;
  core::StoreOffset& offset_;
  std::deque<Call*> queue_;
  std::vector<Call*> in_flight_;  // the leader first
  std::uint64_t calls_ = 0, batch_ = 0;
  Instant sent_{};  // that batch
  bool connected_ = false;
};

}  // namespace holdfast::sim
