// SPDX-License-Identifier: Apache-2.0
// command_line.h - from words to what is meant.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cli/exit_code.h"
#include "holdfast/clock.h"
#include "holdfast/job.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/spi/job_engine.h"

namespace holdfast::cli {

struct Given;
struct Setup;

// What every command may be told.
struct Common {
  std::string store;  // as it was given, empty if it was not; for execute(): the URL
  bool json = false;
  bool quiet = false;            // nothing is told of how the store is set up
  const Setup* setup = nullptr;  // for execute(): where that came from
};

// Whether it is CMD's turn, once it has the key.  Zero: not asked; never both.
struct RunCondition {
  Millis tick{};   // once per interval of the store's wall clock
  Millis every{};  // not if it has succeeded within so long
};

// What becomes of CMD when its lease is lost, or nearly.
enum class OnLost : std::uint8_t {
  term,    // TERM, and KILL in time
  kill,    // KILL, at the last moment that is in time
  ignore,  // nothing
  exec,    // a program is run instead of TERM, and KILL in time
};

// How long CMD may take and must have taken, and how it is ended.
struct Ending {
  OnLost on_lost = OnLost::term;
  std::string program = {};               // of OnLost::exec
  std::optional<Millis> kill_after = {};  // between TERM and KILL; none: as the ttl says
  Millis at_least{};                      // the key is kept so long, however soon CMD ends
  Millis at_most = forever;               // CMD is ended after that
  std::string at_most_from = {};          // FILE:LINE that says so; empty: the command line
};

struct Run {
  std::string key;
  AcquireOptions options;
  int busy_code = exit_busy;
  RunCondition turn = {};
  Ending ending = {};
  std::vector<std::string> command;
};
struct Acquire {
  std::string key;
  AcquireOptions options;
};
struct Renew {
  std::string key;
  std::string owner;
  Millis ttl{};
  bool extend = false;  // ttl is added to what the lease has left
};
struct Release {
  std::string key;
  std::string owner;
};
struct Show {
  std::string key;
};
struct Ls {
  enum class Sort : std::uint8_t { key, since, remaining, waiting };
  std::string prefix;
  bool held = false;  // only what somebody holds
  bool all = false;   // also what is free and not waited for
  Sort sort = Sort::key;
  std::optional<Millis> watch = {};  // again and again, so far apart
};
struct Watch {
  std::string prefix;
  Millis interval{};
};
struct Top {
  std::string prefix;
  Millis interval{};
};
struct Doctor {
  bool quick = false;   // without the self-test
  bool strict = false;  // a warning is as bad as a danger
  Millis ttl{};         // that the way to the store is judged by
};
struct Config {
  std::string key;  // empty: all
};
struct Fence {
  std::string file;
  Token token{};
  Millis wait = forever;  // for whoever is at FILE
  std::vector<std::string> command;
};
struct Wait {
  std::string key;
  Millis wait{};
};
struct Break {
  std::string key;
  Token token{};
  std::string reason;
};
struct Purge {
  std::optional<Millis> older_than;  // none: as the stores do by themselves
};
struct Init {
  bool dry_run = false;
};

struct JobsEnqueue {
  std::string name;
  Args args;
  JobOptions options;
  std::optional<Moment> at{};  // none: as `in` says
  Millis in{};
};
struct JobsWork {
  std::vector<std::string> queues;
  std::string exec;  // with {name} and {queue}
  int threads = 4;
  bool once = false;  // ends when nothing is due
  Millis claim{};
  Millis grace{};
  Millis kill_after{};
  Millis at_most = forever;  // a job that runs longer is stopped, and has failed
};
struct JobsLs {
  std::optional<JobState> state;
  std::string queue, name, key;
  std::size_t limit = 100;
};
struct JobsShow {
  JobId id{};
};
struct JobsChange {
  JobChange what{};
  std::vector<JobId> ids;
};
// The lock of a job: by its key, or else by what the job is.
struct LockOfJob {
  std::string key = {};
  std::string name = {};
  Args args = {};
};
struct JobsLocked {
  LockOfJob lock;
  int limit = 1;  // as the jobs of that key have
};
struct JobsEnqueued {
  LockOfJob lock;
};
struct Explain {
  std::string what;  // a key, the number of a job, or job:NUMBER
};

struct Version {
  bool verbose = false;
};
// A text that needs no store: a page, a script for a shell.
struct Help {
  std::string text;
};

using Command = std::variant<Run, Acquire, Renew, Release, Show, Ls, Watch, Top, Wait, Break, Purge, Init,
                             Doctor, Config, Fence, JobsEnqueue, JobsWork, JobsLs, JobsShow, JobsChange,
                             JobsLocked, JobsEnqueued, Explain, Version, Help>;

struct CommandLine {
  Common common;
  Command command;
  std::vector<std::string> stores = {};  // all that --store said; the last one holds
};

// Everything that can be judged without a store is judged here: keys, durations, numbers, what excludes
// what.  The error is Errc::invalid, one sentence that names the input and what would be right.
//
//   holdfast [GLOBAL]... COMMAND [OPTION]... [WORD]...
//
// Global options may stand behind COMMAND too.  For `run`, parsing stops at `--` or at the first word behind
// KEY that is no option: that is CMD, and all behind it is CMD's.  For `fence` the same behind FILE and
// TOKEN.  For `jobs`, a number below zero is a word.
//
// Of `run` and `acquire`, `complete` may add to what was given before it is judged.  It may throw Failure.
using FillIn = std::function<void(const std::string& command, Given& given)>;
Result<CommandLine> parse_command_line(std::span<char* const> argv, const FillIn& substitute = {});

}  // namespace holdfast::cli
