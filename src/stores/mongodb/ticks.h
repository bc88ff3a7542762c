// SPDX-License-Identifier: Apache-2.0
// ticks.h - what is asked of the collection of ticks: one document for each name.
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
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stores/mongodb/connection.h"
#include "stores/mongodb/job_document.h"

namespace holdfast::mongodb {

struct KeptTick {
  std::int64_t tick = -1;
  JobId job{};
  std::string by = {};
  Micros at{}, success{};
};

// Of one connection, for the length of one call.  Throws Failure.
class Ticks {
 public:
  Ticks(Connection& connection, Instant until) : connection_(connection), until_(until) {}

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

}  // namespace holdfast::mongodb
