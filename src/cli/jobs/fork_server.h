// SPDX-License-Identifier: Apache-2.0
// fork_server.h - the process that forks the guards of `jobs work`.
//
//   worker (threads, store, secrets)
//     │ JobProgram, with one end of a link
//   fork server ── forks ── guard ── program (own group)
//     one for each job ──┘ └── its link to the worker's thread
//
// A process with threads and open connections cannot fork a guard that runs without exec.  So the worker
// forks the fork server first, before it has any, and the fork server forks a guard for each job.
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

// The program of one job: what its guard needs before the first message on its own link.
struct JobProgram {
  std::uint64_t job;
  int attempt;
  std::array<char, 513> key;  // each ends with NUL
  std::array<char, 256> name;
  std::array<char, 4096> program;  // its path
};

class ForkServer {
 public:
  // If `out_to_err`, the stdout of programs is our stderr.  Throws std::system_error.  REQUIRES: the process
  // has one thread.
  ForkServer(const Signals& signals, bool out_to_err);

  // Asks for a guard and returns the link to it; the link is closed if no guard could be forked.  Throws
  // std::system_error.  Any thread may call it.
  MainEnd send(const JobProgram& job_program);

  // Readable when the fork server is dead.
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

  std::mutex mutex_;  // one thread sends at a time
  Ours link_;
};

}  // namespace holdfast::cli
