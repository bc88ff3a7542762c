// SPDX-License-Identifier: Apache-2.0
// fork_server.h - where the programs of `jobs work` come from.
//
//   worker (threads, store, secrets)
//     │ JobProgram, with one end of a link
//   fork server ── forks ── guard ── program (own group)
//     one for each job ──┘ └── its link to the worker's thread
//
// A process with threads and open connections cannot fork a guard that lives on without exec.  So the worker
// forks the fork server first of all, before any of these, and that one forks a guard for each job.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cli/run/guard_link.h"
#include "cli/run/signals.h"

namespace holdfast::cli {

// One job's program: what its guard must know before it hears the rest over its own link.
struct JobProgram {
  std::uint64_t job;
  int attempt;
  std::array<char, 513> key;  // each ends in NUL
  std::array<char, 256> name;
  std::array<char, 4096> program;  // its path
};

class ForkServer {
 public:
  // Programs write their stdout to our stderr if `out_to_err`.  Throws std::system_error.  REQUIRES: the
  // process has one thread.
  ForkServer(const Signals& signals, bool out_to_err);

  // The link to a guard that has been asked for.  It is closed if there came to be none.  Throws
  // std::system_error.  Any thread may call it.
  MainEnd send(const JobProgram& job_program);

  // Readable when it is dead.
  int fd() const noexcept { return link_.fd(); }
  bool is_dead() noexcept;

 private:
  using Ours = Link<JobProgram, char>;
  using Theirs = Link<char, JobProgram>;
  struct Pair {
    Ours ours;
    Theirs theirs;
  };
  static Pair make_pair();
  explicit ForkServer(Pair pair, const Signals& signals, bool out_to_err);
  [[noreturn]] static void be_fork_server(Theirs link, const Signals& signals);

  std::mutex mutex_;  // one sends at a time
  Ours link_;
};

}  // namespace holdfast::cli
