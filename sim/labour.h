// SPDX-License-Identifier: Apache-2.0
// labour.h - the jobs of a world: what was enqueued, who runs it now, and whether each was done.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/jobs.h"
#include "sim/run_context.h"
#include "sim/server.h"
#include "sim/threads.h"

namespace holdfast::sim {

class Labour {
 public:
  Labour(RunContext& context, Server& server) : context_(context), server_(server) {}

  void enqueued(JobId id) { acknowledged_.insert(id); }
  void process_died(Timeline::Owner process);

  // A worker runs a job, until destroyed.
  class Run {
   public:
    Run(Labour& all, JobContext& job, Home home);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    // Looks at its claim and its lock as the job would.
    bool held();

   private:
    friend class Labour;
    Labour& all_;
    JobContext& job_;
    const Home home_;
  };

  // Each job that was enqueued is over.
  bool all_over();
  void inspect_at_the_end();

 private:
  void begins(Run& run);

  RunContext& context_;
  Server& server_;
  std::set<JobId> acknowledged_;
  std::vector<Run*> runs_;  // in the order in which they began
};

}  // namespace holdfast::sim
