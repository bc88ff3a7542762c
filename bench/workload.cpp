// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace holdfast::bench {
namespace {

template <Report (*run)(const Effort&)>
Report on_sqlite(const Effort& effort, Subject&) {
  return run(effort);
}

constexpr Workload workloads[] = {
    {"pairs", "acquire and release on one thread, layer by layer, against the same statements by hand",
     "sqlite", run_pairs},
    {"threads",
     "64 threads, a key each, that share a client, against one thread and against 64 raw connections",
     "sqlite", run_threads},
    {"processes", "4 processes, a key each, against 4 that run statements by hand", "sqlite",
     on_sqlite<run_processes>},
    {"contended", "4 processes that want one key all the time, against flock(2)", "sqlite",
     on_sqlite<run_contended>},
    {"handover",
     "from a release in one process to holding in another that waits, against a byte through a pipe",
     "sqlite", run_handover},
    {"takeover",
     "from kill -9 of a holder to holding in a process that waits, against an end of file on a pipe",
     "sqlite", on_sqlite<run_takeover>},
    {"held", "one call of held(), against one read of the clock", "sqlite", on_sqlite<run_held>},
    {"command", "`holdfast run k -- true` and its parts, against `flock f true` and against `true`", "sqlite",
     on_sqlite<run_command>},
    {"kept", "10,000 leases that one client keeps, against one lease and against renewing by hand", "sqlite",
     on_sqlite<run_kept>},
    {"waiting", "100 that wait for one key, as threads and as processes, against asking every 100 ms",
     "sqlite", run_waiting},
    {"pairs-postgres", "pairs on PostgreSQL, against libpq by hand, advisory locks, and the disk", "postgres",
     run_pairs},
    {"threads-postgres", "threads on PostgreSQL, against 64 libpq connections and statements of 64 by hand",
     "postgres", run_threads},
    {"handover-postgres", "hand-over on PostgreSQL, against NOTIFY to LISTEN and against round trips",
     "postgres", run_handover},
    {"waiting-postgres", "waiting on PostgreSQL, as the server counts it, against asking every 100 ms",
     "postgres", run_waiting},
    {"pairs-redis", "pairs on Redis, against hiredis by hand and against redis-py's Lock", "redis",
     run_pairs},
    {"threads-redis", "threads on Redis, against 64 hiredis connections and pipelines of 64 by hand", "redis",
     run_threads},
    {"handover-redis", "hand-over on Redis, against PUBLISH to SUBSCRIBE and against round trips", "redis",
     run_handover},
    {"waiting-redis", "waiting on Redis, as the server counts it, against asking every 100 ms", "redis",
     run_waiting},
    {"pairs-mongodb", "pairs on MongoDB, against findAndModify by hand, with the journal and without",
     "mongodb", run_pairs},
    {"threads-mongodb", "threads on MongoDB, against 64 connections and updates of 64 by hand", "mongodb",
     run_threads},
    {"handover-mongodb", "hand-over on one MongoDB, where those who wait ask, against round trips", "mongodb",
     run_handover},
    {"waiting-mongodb", "waiting on one MongoDB, as the server counts it, against asking every 100 ms",
     "mongodb", run_waiting},
    {"pairs-mariadb", "pairs on MariaDB, against libmariadb by hand, GET_LOCK, and the disk", "mariadb",
     run_pairs},
    {"threads-mariadb", "threads on MariaDB, against 64 connections and statements of 64 by hand", "mariadb",
     run_threads},
    {"handover-mariadb", "hand-over on MariaDB, where those who wait ask, against RELEASE_LOCK to GET_LOCK",
     "mariadb", run_handover},
    {"waiting-mariadb", "waiting on MariaDB, as the server counts it, against asking every 100 ms", "mariadb",
     run_waiting},
    {"jobs", "jobs enqueued, claimed and finished by 1 and 16 workers, against writes by hand", "sqlite",
     run_jobs},
    {"jobs-postgres", "jobs on PostgreSQL, with 1 and 16 workers, against writes by hand", "postgres",
     run_jobs},
    {"jobs-redis", "jobs on Redis, with 1 and 16 workers, against writes by hand", "redis", run_jobs},
    {"jobs-mongodb", "jobs on one MongoDB, with 1 and 16 workers, against writes by hand", "mongodb",
     run_jobs},
    {"jobs-mariadb", "jobs on MariaDB, with 1 and 16 workers, against writes by hand", "mariadb", run_jobs},
    {"jobs-growth", "a claim with a thousand, a hundred thousand and a million jobs queued", "sqlite",
     run_jobs_growth},
    {"jobs-growth-postgres", "a claim on PostgreSQL with more and more jobs queued", "postgres",
     run_jobs_growth},
    {"jobs-growth-redis", "a claim on Redis with more and more jobs queued", "redis", run_jobs_growth},
    {"jobs-growth-mongodb", "a claim on one MongoDB with more and more jobs queued", "mongodb",
     run_jobs_growth},
    {"jobs-growth-mariadb", "a claim on MariaDB with more and more jobs queued", "mariadb", run_jobs_growth},
    {"keep-many", "100,000 leases that one client keeps, and how near any comes to its end", "sqlite",
     run_keep_many},
    {"keep-many-postgres",
     "100,000 leases that one client keeps on PostgreSQL, and how near any comes to its end", "postgres",
     run_keep_many},
    {"keep-many-redis", "100,000 leases that one client keeps on Redis, and how near any comes to its end",
     "redis", run_keep_many},
    {"keep-many-mongodb",
     "100,000 leases that one client keeps on one MongoDB, and how near any comes to its end", "mongodb",
     run_keep_many},
    {"keep-many-mariadb",
     "100,000 leases that one client keeps on MariaDB, and how near any comes to its end", "mariadb",
     run_keep_many},
    {"list-many", "what ls, top and watch ask where a million keys are known and few are held", "sqlite",
     run_list_many},
    {"list-many-postgres",
     "what ls, top and watch ask on PostgreSQL where a million keys are known and few are held", "postgres",
     run_list_many},
    {"list-many-redis", "what ls, top and watch ask on Redis where a million keys are known and few are held",
     "redis", run_list_many},
    {"list-many-mongodb",
     "what ls, top and watch ask on one MongoDB where a million keys are known and few are held", "mongodb",
     run_list_many},
    {"list-many-mariadb",
     "what ls, top and watch ask on MariaDB where a million keys are known and few are held", "mariadb",
     run_list_many},
};

}  // namespace

constinit const Workload instructions_workload{
    "instructions", "what single operations cost, counted by callgrind: the same on every run", "sqlite",
    on_sqlite<run_instructions>};

std::span<const Workload> all_workloads() { return workloads; }

std::vector<Named> take_turns(const Effort& effort, int rounds, std::span<const Contestant> contestants) {
  std::vector<Named> results;
  for (const Contestant& c : contestants) results.push_back({c.name, {}});
  std::vector<std::size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 dice(effort.seed);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), dice);
    for (const std::size_t i : order) {
      double value = contestants[i].once();
      // A short turn on a busy machine may count nothing.
      for (int again = 0; again < 5 && !(value > 0); ++again) value = contestants[i].once();
      // Nothing was counted: dividing by it would make nonsense of the whole record.
      if (!(value > 0)) throw std::runtime_error(contestants[i].name + ": nothing was measured");
      results[i].series.push_back(value);
    }
  }
  return results;
}

double seconds_since(Instant start) {
  return std::chrono::duration<double>(BootClock::now() - start).count();
}

}  // namespace holdfast::bench
