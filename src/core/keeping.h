// SPDX-License-Identifier: Apache-2.0
// keeping.h - all leases of a client: who is due, who is in jeopardy, who is lost, when to look again.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/belief.h"

namespace holdfast::core {

// Two clocks' hands over one set of beliefs: renewals for the thread that talks to the store, alarms for
// the thread that does not.  Decides; does nothing itself.  All instants are given, none is read.
class Keeping {
 public:
  using Id = std::uint64_t;

  struct Alarm {
    Id id;
    bool lost;  // false: in jeopardy
  };

  void add(Id id, Belief belief);
  void remove(Id id);
  bool knows(Id id) const { return entries_.contains(id); }
  const Belief* find(Id id) const;
  std::size_t size() const noexcept { return entries_.size(); }

  // Leases to renew in one batch now: those that are due, and with them those that soon will be.  Each is
  // in flight until renewed(), failed() or remove().
  std::vector<Id> due(Instant now);

  // Believes again.  None: the lease is gone, or its deadline had passed; else its deadline.
  std::optional<Instant> renewed(Id id, Instant sent, Millis remaining, Instant now, bool by_hand = false);
  std::optional<Instant> extended(Id id, Millis more, Instant sent, Millis remaining, Instant now);
  void failed(Id id, Instant now, double jitter);
  void set_ttl(Id id, Millis ttl);
  void stop_renewing(Id id);

  // What happened by now, each thing once, in order of time.  The lost are no longer kept.
  std::vector<Alarm> look(Instant now);

  // By then a call to the store should be over, so that the next renewal is not late; but no call gets
  // less than the shortest attempt.
  Instant time_for_a_call(Instant now) const;

  // When due() or look() can have something new to say.
  Instant next_renewal() const;
  Instant next_alarm() const;

 private:
  struct Entry {
    Belief belief;
    bool in_flight = false;
    bool in_jeopardy = false;
    Instant renewal = Instant::max();  // as indexed
    Instant alarm = Instant::max();
  };
  using Index = std::set<std::pair<Instant, Id>>;
  template <class Change>  // of a Belief; says whether that still holds
  std::optional<Instant> believe(Id id, Change change);
  void index(Id id, Entry& entry);
  void unindex(Id id, const Entry& entry);

  std::map<Id, Entry> entries_;
  Index renewals_, alarms_;
};

}  // namespace holdfast::core
