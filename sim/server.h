// SPDX-License-Identifier: Apache-2.0
// server.h - the database at the far end: the executable specification on a clock of its own, with the
// checks looking over its shoulder.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "holdfast/memory.h"
#include "sim/ledger.h"
#include "sim/message.h"
#include "sim/run_context.h"

namespace holdfast::sim {

class Server {
 public:
  using Ring = std::function<void(Timeline::Owner process, int key)>;
  Server(RunContext& context, Ledger& ledger, Ring ring);

  // The name by which the store knows that process.
  std::string welcome(Timeline::Owner process);

  // Applies what is not void.  No answer if something was.
  std::optional<Answer> deliver(Timeline::Owner process, const Letter& letter);

  void step_wall_clock(Micros by) { wall_step_ += by; }
  void break_lease(int key);
  Purged purge(Millis free_for);

  Micros now() const;
  Moment wall() const;
  static std::string text_of(int key) { return "k" + std::to_string(key); }
  // Whether the row is live and names that holder and token.
  bool backs(int key, const std::string& owner, Token token);
  bool live(int key);
  bool without_end(int key);
  std::optional<JobRow> job(JobId id);
  // Who has a place in that queue, first first.
  std::vector<Timeline::Owner> waiting(int key);

 private:
  struct Seat {
    std::shared_ptr<Store> store;
    std::unique_ptr<StoreConnection> connection;
    std::unique_ptr<JobEngine> jobs;
  };
  Reply apply(Timeline::Owner process, const Message& message);
  Reply ask(StoreConnection& connection, const Message& message) const;
  std::optional<LeaseRow> row(int key);
  Message mutated(Message message);
  Token mutated(Token token, int key);

  RunContext& context_;
  Ledger& ledger_;
  const DriftingClock clock_;
  Micros wall_step_{0};
  const std::shared_ptr<memory::Database> database_;
  std::map<Timeline::Owner, Seat> seats_;
  std::map<std::string, Timeline::Owner, std::less<>> processes_;  // by their name at the store
  std::vector<Token> last_granted_;                                // by key
  std::vector<bool> purged_;                                       // by key: since its last grant
};

}  // namespace holdfast::sim
