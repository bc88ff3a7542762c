// SPDX-License-Identifier: Apache-2.0
// ledger.h - checks what the store did: tokens rise, the queue is served in order, nobody frees another's
// grant, nothing is granted to those who have gone.  Keeps books of its own and believes the store nothing.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/message.h"
#include "sim/run_context.h"

namespace holdfast::sim {

class Ledger {
 public:
  explicit Ledger(RunContext& context)
      : context_(context), rows_(static_cast<std::size_t>(context.plan.keys)) {}

  struct Kind {
    bool named = false;   // by a name of the user's: what may have been granted is not given back
    bool queues = false;  // it keeps a place while it waits
  };
  AttemptId new_attempt(Timeline::Owner process, Kind kind);
  void known_as(AttemptId attempt_id, std::string owner) { owners_.emplace(std::move(owner), attempt_id); }
  // An acquire of that attempt, by that owner, is void after `void_at`.
  void sent(AttemptId attempt_id, const std::string& owner, Micros void_at);
  void release_sent(AttemptId attempt_id, int key, Token token);
  // Whose owner that is; none for an empty name.
  AttemptId attempt_of(const std::string& owner) const {
    const auto known = owners_.find(owner);
    return known == owners_.end() ? no_attempt : known->second;
  }
  // Its caller has stopped asking; `gave_up`: and takes nothing that may still be granted to it.
  void over(AttemptId attempt_id, bool gave_up);

  // The store has answered; its clock showed `now`.
  void applied(const Message& message, Timeline::Owner process, const Reply& reply, Micros now);
  // An operator broke the lease on that key.
  void broken(int key);

  bool was_broken(AttemptId attempt_id) const { return attempts_[index(attempt_id)].broken; }
  bool gave_up(AttemptId attempt_id) const { return attempts_[index(attempt_id)].gave_up; }
  bool named(AttemptId attempt_id) const { return attempts_[index(attempt_id)].kind.named; }
  bool is_over(AttemptId attempt_id) const { return attempts_[index(attempt_id)].over; }
  True over_since(AttemptId attempt_id) const { return attempts_[index(attempt_id)].over_since; }
  Timeline::Owner process_of(AttemptId attempt_id) const { return attempts_[index(attempt_id)].process; }
  // The grant went to a message that the network had doubled: nobody can know of it.
  bool granted_to_a_copy(int key) const { return rows_[index(key)].by_copy; }
  AttemptId owner_of(int key) const { return rows_[index(key)].owner; }

 private:
  static constexpr AttemptId nobody = -1;
  struct AttemptState {
    Timeline::Owner process;
    Micros void_at{};  // of its last acquire
    Kind kind{};
    bool over = false, gave_up = false, broken = false;
    bool closed = false;  // a release reached the store after the last acquire was void
    True over_since{};
    True release_sent{};
    True freed{};  // by a release, which may have been sent before the grant
    std::optional<True> without_place_since = {};
  };
  struct Ticket {
    Timeline::Owner process;
    Micros until;
  };
  struct Row {
    AttemptId owner = nobody;  // not released; perhaps expired
    bool by_copy = false;
    Token token{}, last{};
    Micros until{};  // or up to a millisecond later
    std::deque<Ticket> queue;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  void acquired(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now);
  void granted_anew(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now);
  void turned_away(const Message& m, Row& row, Timeline::Owner process, Micros now);
  void renewed(const Message& m, Row& row, const Reply& reply, Micros now);
  void released(const Message& m, Row& row, Timeline::Owner process, const Reply& reply, Micros now);
  void must_be_given_back(AttemptId attempt_id);
  bool drop_expired(Row& row, Micros now);
  static bool leave(Row& row, Timeline::Owner process);

  RunContext& context_;
  std::vector<Row> rows_;
  std::vector<AttemptState> attempts_;
  std::map<std::string, AttemptId, std::less<>> owners_;
};

}  // namespace holdfast::sim
