// SPDX-License-Identifier: Apache-2.0
// keeping.h - all leases of a client: who is due, who is in jeopardy, who is lost, when to look again.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/belief.h"

namespace holdfast::core {

// Two clocks' hands over one set of beliefs: renewals for the thread that talks to the store, events for
// the thread that does not.  Decides; does nothing itself.  All instants are given, none is read.
//
// Memory for a lease is taken by add(): after that only due() and look() need some, for what they return, and
// where there is none they throw and have changed nothing.
class Keeping {
 public:
  using Id = std::uint64_t;

  struct Event {
    Id id;
    bool lost;  // false: in jeopardy
  };

  void add(Id id, Belief belief);
  void remove(Id id);
  bool knows(Id id) const { return entries_.contains(id); }
  const Belief* find(Id id) const;
  std::size_t size() const noexcept { return entries_.size(); }

  // Leases to renew in one batch now, but no more than that: those that are due, and with them those that
  // soon will be.  The shortest-lived first; only such as want about the same time for a call, and none that
  // failed with one that did not.  Each is in flight until renewed(), failed() or remove().
  std::vector<Id> due(Instant now, std::size_t most);

  // Believes again.  None: the lease is gone, or its deadline had passed; else its deadline.
  std::optional<Instant> renewed(Id id, Instant sent, Millis remaining, Instant now, bool by_hand = false);
  std::optional<Instant> extended(Id id, Millis more, Instant sent, Millis remaining, Instant now);
  void failed(Id id, Instant now, double jitter);
  // The same for all that are in flight.
  void all_failed(Instant now, double jitter);
  void set_ttl(Id id, Millis ttl);
  void stop_renewing(Id id);

  // What happened by now, but no more than so many things, each once, in order of time.  The lost are no
  // longer kept.
  std::vector<Event> look(Instant now, std::size_t most = std::numeric_limits<std::size_t>::max());

  // By then a call to the store, or a rest, should be over: it may make the next renewal late by no more than
  // what that may take itself.
  Instant time_for_a_call(Instant now) const;

  // When due() or look() can have something new to say.
  Instant next_renewal() const;
  Instant next_event() const;

 private:
  using Index = std::set<std::pair<Instant, Id>>;
  struct Entry {
    Belief belief;
    Index::node_type in_renewals, in_urgent, in_events;  // while they are not in their index
    bool in_flight = false;
    bool in_jeopardy = false;
    Instant renewal = Instant::max();  // as indexed
    Instant renew_by = Instant::max();
    Instant event = Instant::max();
  };
  template <class Change>  // of a Belief; says whether that still holds
  std::optional<Instant> believe(Id id, Change change);
  void failed(Id id, Entry& entry, Instant now, double jitter);
  void index(Id id, Entry& entry);
  void unindex(Id id, Entry& entry);

  std::map<Id, Entry> entries_;
  Index renewals_, urgent_, events_;  // the first two have the same leases
  // No renewal in that time, as far as the next can wait: many that are due at once are spread, and a store
  // that does not answer is not asked by the next at once.
  Instant rest_from_ = Instant::min(), rest_until_ = Instant::min();
};

}  // namespace holdfast::core
