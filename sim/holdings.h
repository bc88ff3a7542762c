// SPDX-License-Identifier: Apache-2.0
// holdings.h - the leases that threads of simulated processes have, looked at as their holders would, and
// checked against each other and against the store.
#pragma once
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/lease.h"
#include "sim/message.h"
#include "sim/run_context.h"
#include "sim/server.h"
#include "sim/threads.h"

namespace holdfast::sim {

class Holdings {
 public:
  Holdings(RunContext& context, Server& server, Ledger& ledger)
      : context_(context), server_(server), ledger_(ledger) {}

  // What the holder knows, for the checks.
  struct Terms {
    AttemptId attempt_id;
    int key;
    Home home;
    Millis ttl;
    bool kept;  // as long as its thread wants it
  };

  // A lease that a thread has been granted, until destroyed.
  class Holding {
   public:
    Holding(Holdings& all, const Lease& lease, Terms terms);
    ~Holding();
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

    // Looks at it as its holder would, and checks that what that shows is true.
    bool held();
    // From here on its thread does not want it.
    void ends();

   private:
    friend class Holdings;
    struct Told {
      Holding* holding;
      void operator()() const noexcept { holding->lost(); }
    };
    bool looks_held();
    void lost();
    std::string name() const;
    bool backed();

    Holdings& all_;
    const Lease& lease_;
    const Terms terms_;
    bool over_ = false;       // released, or seen not to be held
    Instant renewal_sent_{};  // or its acquire
    const bool began_in_calm_;
    std::optional<std::stop_callback<Told>> told_;
  };

  // A renewal of that attempt was sent; or one of all leases of that process, had there been a connection.
  void renewal_sent(AttemptId attempt_id, Instant at);
  void renewals_sent(Timeline::Owner process, Instant at);
  void process_died(Timeline::Owner process);
  bool anything_of(Timeline::Owner process) const;

 private:
  void begins(Holding& holding);

  RunContext& context_;
  Server& server_;
  Ledger& ledger_;
  std::map<AttemptId, Holding*> holdings_;
};

}  // namespace holdfast::sim
