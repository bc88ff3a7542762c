// SPDX-License-Identifier: Apache-2.0
// job_collection.h - what is asked of the collections of jobs and of ticks: one command each, and what it
// says.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/mongodb/connection.h"
#include "stores/mongodb/job_document.h"

namespace holdfast::mongodb {

using Queues = std::span<const std::string>;

// Of one connection, for the length of one call.  Throws Failure.
class JobCollection {
 public:
  JobCollection(Connection& connection, Instant until) : connection_(connection), until_(until) {}

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
  bool update(const Document& match, const char* pipeline, const Document& constants, bool many);
  std::string name() const { return connection_.config().jobs(); }

  Connection& connection_;
  const Instant until_;
  bool applied_ = false;
};

// -- ticks: one document for each name
//
// A job that is enqueued for a tick has it in its own document, where a unique index lets one job have it:
// so job, slot and tick are one insert, and what was not enqueued has taken no tick.  The document of the
// name then says how far it has come, so that a tick stays taken when its job is gone.  Whoever dies between
// the two leaves a job that has its tick: the next who asks for it finds that job, is told that it is a
// duplicate, and writes what was left unwritten.  So does whoever removes the job, before it is gone.
//
// What remains: whoever read the document of the name before another enqueued the same tick, and inserts when
// the other's job was enqueued, finished and removed by hand meanwhile, sees that it came too late only after
// its insert.  It then takes its job back, unless a worker has it already.

struct KeptTick {
  std::int64_t tick = -1;
  JobId job{};
  std::string by = {};
  Micros at{}, success{};
};

// Of one connection, for the length of one call.  Throws Failure.
class TickCollection {
 public:
  TickCollection(Connection& connection, Instant until) : connection_(connection), until_(until) {}

  std::optional<KeptTick> find(std::string_view name);

  struct Step {
    std::int64_t tick = 0;
    JobId job{};
    std::string_view by = {};
    Micros at{};
    Micros until{};  // nobody asks for it afterwards; zero: it is kept
  };
  // False: it has come so far already, or further.
  bool advance(std::string_view name, const Step& step);
  // So far as this job's tick; false if that of another had come as far.
  bool advance(const KeptJob& job);
  void note_success(std::string_view name, std::string_view by, Micros at);
  void erase(Micros until_before);

 private:
  bool upsert(const std::vector<Document>& updates);
  std::string name() const { return connection_.config().ticks(); }

  Connection& connection_;
  const Instant until_;
};

// -- parts of the commands about jobs

// `pipeline`: a name in jobs.json.
Document& add_pipeline(Document& command, std::string_view name, const char* pipeline);

// `field` <= the server's clock.
inline Document has_come(const char* field) {
  return Document::from_json(R"({"$lte": ["$)" + std::string(field) + R"(", "$$NOW"]})");
}

inline Document in_queues(std::span<const std::string> queues) {
  Document in, match;
  in.texts("$in", {queues.begin(), queues.end()});
  return std::move(match.document("queue", in));
}

inline Document numbers_in(const std::vector<JobId>& ids) {
  Document list, in;
  std::size_t i = 0;
  for (const JobId id : ids) list.number(std::to_string(i++), kept(id));
  return std::move(in.array("$in", list.get()));
}

inline Document is_there(bool there) { return std::move(Document().flag("$exists", there)); }

inline Document in_order() {
  return std::move(Document().number("priority", 1).number("run_at", 1).number("_id", 1));
}

inline std::vector<View> found_in(const Document& reply) {
  return View(reply)["cursor"].documents("firstBatch");
}

}  // namespace holdfast::mongodb
