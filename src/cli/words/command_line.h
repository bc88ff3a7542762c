// SPDX-License-Identifier: Apache-2.0
// command_line.h - parses the command line into a Command.
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

// The global options.
struct Common {
  std::string store;  // as it was given, empty if it was not; in execute(): the URL
  bool json = false;
  bool quiet = false;            // print no warnings about how the store is set up
  const Setup* setup = nullptr;  // in execute(): where the store came from
};

// When `run` may run CMD, once it holds the key.  Zero: no condition; never both.
struct RunCondition {
  Millis tick{};   // once per interval of the store's wall clock
  Millis every{};  // not if CMD has succeeded within this time
};

// What happens to CMD when its lease is lost or about to be.
enum class OnLost : std::uint8_t {
  term,    // TERM, and KILL in time
  kill,    // KILL, as late as possible
  ignore,  // nothing
  exec,    // run a program instead of TERM, and KILL in time
};

// How CMD is ended, and how long it may take.
struct Ending {
  OnLost on_lost = OnLost::term;
  std::string program = {};               // of OnLost::exec
  std::optional<Millis> kill_after = {};  // between TERM and KILL; none: derived from the ttl
  Millis at_least{};                      // the key is kept this long even if CMD ends sooner
  holdfast::Wait at_most = forever;       // CMD is ended after that
  std::string at_most_from = {};          // FILE:LINE that sets it; empty: the command line
};

struct Run {
  std::string key;
  AcquireOptions options;
  int busy_code = exit_busy;
  RunCondition condition = {};
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
  bool held = false;  // only keys that are held
  bool all = false;   // also free keys without waiters
  Sort sort = Sort::key;
  std::optional<Millis> watch = {};  // repeat at this interval
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
  Millis ttl{};         // that the round trips are judged by
};
struct Config {
  std::string key;  // empty: all
};
struct Fence {
  std::string file;
  Token token{};
  holdfast::Wait wait = forever;  // for another CMD that uses FILE
  std::vector<std::string> command;
};
struct Wait {
  std::string key;
  holdfast::Wait wait = forever;
};
struct Break {
  std::string key;
  Token token{};
  std::string reason;
};
struct Purge {
  std::optional<Millis> older_than;  // none: as stores purge by themselves
};
struct Init {
  bool dry_run = false;
};

struct JobsEnqueue {
  std::string name;
  Args args;
  JobOptions options;
  std::optional<Moment> at{};  // none: see `in`
  Millis in{};
};
struct JobsWork {
  std::vector<std::string> queues;
  std::string exec;  // with {name} and {queue}
  int threads = 4;
  bool once = false;  // end when no job is due
  Millis claim{};
  Millis grace{};
  Millis kill_after{};
  holdfast::Wait at_most = forever;  // a job that runs longer is stopped, and has failed
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
// The lock of a job: its key, or the name and arguments that make it.
struct LockOfJob {
  std::string key = {};
  std::string name = {};
  Args args = {};
};
struct JobsLocked {
  LockOfJob lock;
  int limit = 1;  // the limit of the jobs with that key
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
  std::vector<std::string> stores = {};  // every --store; the last one counts
};

// Checks everything that needs no store: keys, durations, numbers, options that exclude each other.  The
// error is Errc::invalid with one sentence that names the input and what would be valid.
//
//   holdfast [GLOBAL]... COMMAND [OPTION]... [WORD]...
//
// Global options may also follow COMMAND.  For `run`, parsing stops at `--` or at the first word after KEY
// that is not an option: this is CMD, and everything after it belongs to CMD.  For `fence` the same after
// FILE and TOKEN.  For `jobs`, a negative number is a word.
//
// For `run` and `acquire`, `substitute` may add options before they are checked.  It may throw Failure.
using FillIn = std::function<void(const std::string& command, Given& given)>;
Result<CommandLine> parse_command_line(std::span<char* const> argv, const FillIn& substitute = {});

}  // namespace holdfast::cli
