// SPDX-License-Identifier: Apache-2.0
// keeping.h - all leases of a client: which are due for renewal, in jeopardy or lost, and when that changes.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/batching.h"
#include "core/belief.h"

namespace holdfast::core {

// One set of beliefs for two threads: due() for the thread that sends renewals, take_events() for the thread
// that does no I/O.  Decides, and does nothing itself.  It reads no clock: all instants are arguments.
//
// add() allocates all memory for a lease.  After that only due() and take_events() allocate, for what they
// return. If there is no memory they throw and have changed nothing.
class Keeping {
 public:
  using Id = std::uint64_t;

  struct Event {
    Id id;
    bool lost;  // false: in jeopardy
  };

  // Leases of different groups are not renewed in one batch.  A group says how many of its leases go into
  // one; it must live longer than they are kept.  Null: the leases without a group.
  using Group = const BatchSize*;
  void add(Id id, Belief belief, Group group = nullptr);
  void remove(Id id);
  bool knows(Id id) const { return entries_.contains(id); }
  const Belief* find(Id id) const;
  std::size_t size() const noexcept { return entries_.size(); }

  // Leases of one group to renew in one batch now: those that are due, and with them those that soon will be,
  // at most `most` of the leases without a group.  The shortest-lived come first.  A batch contains only
  // leases that allow about the same time for a call, and does not mix leases whose last renewal failed with
  // others.  Each is in flight until renewed(), failed() or remove().
  std::vector<Id> due(Instant now, std::size_t most);

  // A renewal was granted.  Returns the new deadline; none if the lease is not kept or its deadline had
  // passed.
  std::optional<Instant> renewed(Id id, Instant sent, Millis remaining, Instant now, bool by_hand = false);
  std::optional<Instant> extended(Id id, Millis more, Instant sent, Millis remaining, Instant now);
  void failed(Id id, Instant now, double jitter);
  // The same for all leases that are in flight.
  void all_failed(Instant now, double jitter);
  void set_ttl(Id id, Millis ttl);
  void stop_renewing(Id id);

  // The events until `now`, at most `most`, each once, in order of time.  Lost leases are removed.
  std::vector<Event> take_events(Instant now, std::size_t most = std::numeric_limits<std::size_t>::max());

  // The time limit of a call to the store, or of a rest, that starts at `now`: it may delay the next renewal
  // by no more than the time that renewal may take itself.
  Instant time_for_a_call(Instant now) const;

  // When due() or take_events() can return something new.
  Instant next_renewal() const;
  Instant next_event() const;

 private:
  using Index = std::set<std::pair<Instant, Id>>;
  struct Entry {
    Belief belief;
    Group group;
    Index::node_type in_renewals, in_urgent, in_events;  // while they are not in their index
    bool in_flight = false;
    bool in_jeopardy = false;
    Instant renewal = Instant::max();  // as indexed
    Instant renew_by = Instant::max();
    Instant event = Instant::max();
  };
  template <class Change>  // changes a Belief; returns whether the lease is still held
  std::optional<Instant> believe(Id id, Change change);
  void failed(Id id, Entry& entry, Instant now, double jitter);
  void index(Id id, Entry& entry);
  void unindex(Id id, Entry& entry);

  std::map<Id, Entry> entries_;
  Index renewals_, urgent_, events_;  // the first two have the same leases
  // No renewal is sent during this rest, as far as the next one can wait.  It spreads many renewals that are
  // due at once, and gives a store that does not answer a pause.
  Instant rest_from_ = Instant::min(), rest_until_ = Instant::min();
};

}  // namespace holdfast::core
