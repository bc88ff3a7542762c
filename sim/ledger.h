// SPDX-License-Identifier: Apache-2.0
// ledger.h - checks what the store did: tokens rise, the queue is served in order, nobody frees another's
// grant, nothing is granted to those who have gone.  Keeps books of its own and believes the store nothing.
#pragma once
#include <deque>
#include <map>
#include <vector>

#include "sim/message.h"
#include "sim/scene.h"

namespace holdfast::sim {

class Ledger {
 public:
  explicit Ledger(Scene& scene) : scene_(scene), rows_(static_cast<std::size_t>(scene.plan.keys)) {}

  Wish make_wish(Timeline::Owner process);
  // An acquire of that wish is void after `void_at`.
  void sent(Wish wish, Micros void_at);
  void release_sent(Wish wish) { wishes_[index(wish)].release_sent = scene_.now(); }
  // Its caller has stopped asking; `gave_up`: and takes nothing that may still be granted to it.
  void over(Wish wish, bool gave_up);

  // The store has answered; its clock showed `now`.
  void applied(const Message& message, Timeline::Owner process, const Reply& reply, Micros now);
  // An operator broke the lease on that key.
  void broken(int key);

  bool was_broken(Wish wish) const { return wishes_[index(wish)].broken; }
  bool gave_up(Wish wish) const { return wishes_[index(wish)].gave_up; }
  True over_since(Wish wish) const { return wishes_[index(wish)].over_since; }
  Timeline::Owner process_of(Wish wish) const { return wishes_[index(wish)].process; }
  // The grant went to a message that the network had doubled: nobody can know of it.
  bool granted_to_a_copy(int key) const { return rows_[index(key)].by_copy; }
  Wish holder_of(int key) const { return rows_[index(key)].holder; }

 private:
  static constexpr Wish nobody = -1;
  struct WishState {
    Timeline::Owner process;
    Micros void_at{};  // of its last acquire
    bool over = false, gave_up = false, broken = false;
    bool closed = false;  // a release reached the store after the last acquire was void
    True over_since{};
    True release_sent{};
  };
  struct Ticket {
    Timeline::Owner process;
    Micros until;
  };
  struct Row {
    Wish holder = nobody;  // not released; perhaps expired
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
  void must_be_given_back(Wish wish);
  bool drop_expired(Row& row, Micros now);
  static bool leave(Row& row, Timeline::Owner process);

  Scene& scene_;
  std::vector<Row> rows_;
  std::vector<WishState> wishes_;
};

}  // namespace holdfast::sim
