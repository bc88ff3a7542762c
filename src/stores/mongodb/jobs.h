// SPDX-License-Identifier: Apache-2.0
// jobs.h - what is asked of the collection of jobs: one command each, and what it says.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/mongodb/connection.h"
#include "stores/mongodb/constants.h"
#include "stores/mongodb/job_document.h"

namespace holdfast::mongodb {

using Queues = std::span<const std::string>;

// Of one connection, for the length of one call.  Throws Failure.
class Jobs {
 public:
  Jobs(Connection& connection, Instant until) : connection_(connection), until_(until) {}

  // Something was changed: a failure afterwards is in doubt.
  bool applied() const noexcept { return applied_; }
  void has_applied() noexcept { applied_ = true; }

  // -- to enqueue

  struct Fresh {
    JobId id{};
    Micros now{};
  };
  Fresh next_id();
  // An id was there already: the counter had been lost.
  void skip_ids();

  enum class Inserted : std::uint8_t { yes, slot_taken, tick_taken, id_taken };
  Inserted insert(const KeptJob& job);

  // -- to read

  std::optional<KeptJob> find(const Document& filter);
  std::optional<KeptJob> in_slot(std::string_view key);
  std::vector<KeptJob> list(const JobQuery& query);

  // -- to change

  enum class Swapped : std::uint8_t {
    yes,
    changed,     // it is not as it was read: read it again
    slot_taken,  // it would take its slot, and somebody has it
  };
  // Only if it is still at the version that was read.
  Swapped swap(const KeptJob& read, const Document& change);
  bool erase(const KeptJob& read);
  // The job as it is then.
  std::optional<KeptJob> count_duplicate(const Document& filter);
  // How many of them are this holder's: all that are, now prolonged.
  std::size_t prolong(std::span<const ClaimRef> claims, Millis ttl);
  std::vector<bool> held(std::span<const ClaimRef> claims);

  // -- to claim

  // Those whose time has come: claims and takings that ran out, and queued ones that are due by now.
  struct Woken {
    std::vector<JobId> abandoned, due;
  };
  Woken woken(Queues queues);
  void make_due(const std::vector<JobId>& due);
  // The first of all that are due, in order; that one, if it still is abandoned.
  std::optional<KeptJob> take_next(Queues queues, std::string_view taker, Millis length);
  std::optional<KeptJob> take_over(JobId id, std::string_view taker, Millis length);
  // Until something may have to be looked at; `now` is the server's clock.
  Millis idle(Queues queues, Micros& now);

  // -- those that wait for a lock

  // By core::before().
  std::optional<KeptJob> first_waiting(std::string_view key);
  // It looks within scout_pause.
  void send_out(const KeptJob& waiting);
  // False: it waits no longer.
  bool make_due(const KeptJob& waiting);

  // -- to purge

  // Those that are over since then or longer.
  std::vector<KeptJob> over(Micros cut, std::size_t limit);
  std::uint64_t erase_over(const std::vector<KeptJob>& jobs, Micros cut);

 private:
  Document write(const Document& command, Effect effect);
  // One findAndModify; the document that it told of.
  std::optional<KeptJob> modify(Document command, Effect effect);
  std::optional<KeptJob> take(const Document& filter, const char* hint, std::string_view taker,
                              Millis length);
  bool update(const Document& match, const Document& pipeline, const Document& constants, bool many);
  std::string name() const { return connection_.config().jobs(); }

  Connection& connection_;
  const Instant until_;
  bool applied_ = false;
};

}  // namespace holdfast::mongodb
