// SPDX-License-Identifier: Apache-2.0
// work.cpp - `holdfast jobs work --exec PROGRAM`: runs jobs until a signal ends it.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "cli/commands.h"
#include "cli/epoll_set.h"
#include "cli/jobs/handler.h"
#include "cli/jobs/job_format.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/words/values.h"
#include "holdfast/job_worker.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr OptionSpec work_options[] = {
    {"--queue", "QUEUE", "take jobs from this queue (default: \"default\"); may be repeated"},
    {"--exec", "PROGRAM", "the program to run; {name} and {queue} are replaced by those of the job"},
    {"--threads", "N", "run this many jobs at once (default: 4)"},
    {"--once,--until-empty", "", "end when no job is due"},
    {"--claim", "DURATION", "a worker that does not respond for this long loses its jobs (default: 30s)"},
    {"--grace", "DURATION",
     "when told to end, let running jobs continue for this long (default: 10s); then stop them and "
     "hand them back to the queue"},
    {"--kill-after", "DURATION", "time between TERM and KILL when a job is stopped (default: 10s)"},
    {"--at-most", "DURATION",
     "stop a job that runs longer than this, and count it as failed (default: no limit)"},
};

struct JobsWork {
  Words queues;
  std::string exec;  // with {name} and {queue}
  int threads = 4;
  bool once = false;  // end when no job is due
  Millis claim{};
  Millis grace{};
  Millis kill_after{};
  Wait at_most = forever;  // a job that runs longer is stopped, and has failed
};

// The process that enqueues a job chooses {name} and {queue}.  They may select a file in one folder, but not
// any program of the machine.
std::string exec_of(const Given& given) {
  const std::string exec = given.text("--exec").value_or("");
  if (exec.empty()) refuse("--exec is missing; say what to run for a job, as in --exec 'handlers/{name}'");
  const std::size_t placeholder = std::min(exec.find("{name}"), exec.find("{queue}"));
  if (placeholder != std::string::npos && exec.rfind('/', placeholder) == std::string::npos)
    refuse("--exec " + shown(exec) +
           " would let a job run any program in PATH; put a folder before it, as in handlers/{name}");
  return exec;
}

JobsWork work_of(const Given& given) {
  const auto time = [&](const char* option, Millis otherwise) {
    const Text text = given.text(option);
    return text ? duration(option, *text) : otherwise;
  };
  const Text at_most = given.text("--at-most");
  JobsWork work{.queues = given.texts("--queue"),
                .exec = exec_of(given),
                .threads = number_of(given, "--threads", {1, 1000}, 4),
                .once = given.flag("--once"),
                .claim = time("--claim", 30s),
                .grace = time("--grace", 10s),
                .kill_after = time("--kill-after", 10s),
                .at_most = at_most ? some_duration("--at-most", *at_most) : Millis(forever)};
  if (work.queues.empty()) work.queues = {"default"};
  if (work.claim < 100ms || work.claim > 24h)
    refuse("--claim " + printable(*given.text("--claim")) + " is out of range; give 100ms to 1d");
  return work;
}

constexpr Millis no_limit = 24h * 365;

std::string sentence_of(const JobEvent& event, Millis took) {
  const std::string job =
      "job " + std::to_string(to_number(event.job.id)) + " " + printable(event.job.name) + " ";
  const std::string detail = printable(event.detail);
  switch (event.what) {
    case JobEvent::What::started:
      return job + "started" +
             (event.job.attempt > 1 ? ", attempt " + std::to_string(event.job.attempt) : "");
    case JobEvent::What::done: return job + "done in " + format_duration(took);
    case JobEvent::What::failed: return job + "failed: " + detail + "; it will be tried again";
    case JobEvent::What::died: return job + "is dead: " + detail;
    case JobEvent::What::dropped:
      return job + "dropped: " + printable(event.job.key) + " is held by " +
             printable(short_owner(event.detail));
    case JobEvent::What::lost: return job + "was lost to another worker: " + detail;
    case JobEvent::What::expired:
      return job + "done in " + format_duration(took) + ", but its lock had expired before the end";
    case JobEvent::What::handed_back: return job + "was handed back to the queue: " + detail;
    case JobEvent::What::unknown:
      return job + "has ended, but the result could not be written to the store: " + detail;
    case JobEvent::What::cancelled: return job + "was cancelled";
  }
  return job;
}

// Prints the events of jobs.  All threads of the worker call it.
class EventPrinter {
 public:
  explicit EventPrinter(bool as_json) : as_json_(as_json) {}

  void operator()(const JobEvent& event) {
    const std::lock_guard lock(mutex_);
    const Millis took = took_of(event);
    if (!as_json_) return complain(sentence_of(event, took));
    JobEvent printed = event;
    // For `dropped`, the detail is the owner of a row.
    if (printed.what != JobEvent::What::dropped) printed.detail = without_secrets(printed.detail);
    print(json_of(printed, took));
    (void)flush_stdout();
  }

 private:
  // A job that was lost may be started again, also here, before its first run has ended.
  using Run = std::pair<JobId, std::string>;

  Millis took_of(const JobEvent& event) {
    const Instant now = BootClock::now();
    const Run run{event.job.id, event.job.owner};
    if (event.what == JobEvent::What::started) {
      began_[run] = now;
      return {};
    }
    const auto found = began_.find(run);
    if (found == began_.end()) return {};
    const Millis took = std::chrono::floor<Millis>(now - found->second);
    began_.erase(found);
    return took;
  }

  const bool as_json_;
  std::mutex mutex_;
  std::map<Run, Instant> began_;
};

// The worker, and a thread that waits for its end while the main thread handles signals.
class WorkerThread {
 public:
  WorkerThread(Jobs jobs, WorkerOptions options) : worker_(std::move(jobs), std::move(options)) {}
  ~WorkerThread() {
    worker_.drain();
    join();
  }

  // Ends when no job is due, or the store returns an error.
  void end_when_idle() {
    await_end([this] {
      if (Status s = worker_.try_wait_until_idle(); !s) code_ = exit_code(s.error().code);  // it was logged
    });
  }
  // The first call lets running jobs finish; the second stops them.
  void end() {
    if (std::exchange(end_requested_, true))
      worker_.stop();
    else
      worker_.drain();
    if (!waiting_.started()) await_end([] {});
  }
  void stop() {
    end_requested_ = true;
    worker_.stop();
    end();
  }
  bool over() const { return over_; }
  // REQUIRES: over, and joined.
  int code() const { return code_; }
  Wakeup& wakeup() { return wakeup_; }
  void join() { waiting_.finish(no_limit); }

 private:
  template <class First>
  void await_end(First first) {
    waiting_ = Worker([this, first] {
      first();
      worker_.drain();
      worker_.wait();
      over_ = true;
      wakeup_.ring();
    });
  }

  JobWorker worker_;
  Wakeup wakeup_;
  std::atomic<bool> over_ = false;
  int code_ = exit_ok;
  bool end_requested_ = false;
  Worker waiting_;
};

int run_until_over(WorkerThread& worker, Signals& signals, ForkServer& fork_server) {
  EpollSet sources{signals.fd(), fork_server.fd()};
  int code = exit_ok;
  while (!worker.over()) {
    worker.wakeup().wait(Instant::max(), sources.fd());
    while (const auto signal = signals.next()) {
      switch (meaning_of(*signal)) {
        case Meaning::ends: worker.end(); break;
        case Meaning::stops: Signals::stop_own_group(); break;
        case Meaning::passes:
        case Meaning::continues:
        case Meaning::child: break;
      }
    }
    if (code == exit_ok && fork_server.is_dead()) {
      complain("the helper process that starts the programs of jobs was killed; this worker ends");
      code = exit_signalled(SIGKILL);
      sources.drop(fork_server.fd());
      worker.stop();
    }
  }
  worker.join();
  return code == exit_ok ? worker.code() : code;
}

int execute(const JobsWork& command, const Common& common) {
  if (!common.json) discard_closed_stdout();  // programs write to it
  Signals signals;
  // Before the first store and thread: the fork server must share nothing with them.
  ForkServer fork_server(signals, common.json);

  const auto store = try_store(common.store);
  if (!store) return fail(store.error());
  auto client = Client::try_make(*store, with_notices(common.quiet));
  if (!client) return fail(client.error());
  Jobs jobs(*client);
  if (const auto any = jobs.try_list({.limit = 1}); !any) return fail(any.error());

  const HandlerOptions options{command.exec, command.claim, command.kill_after, command.at_most};
  jobs.define_others(
      [&](JobContext& context, const Args&) { run_handler(options, fork_server, **store, context); });
  EventPrinter print_event(common.json);
  try {
    WorkerThread worker(jobs, {.queues = command.queues,
                               .threads = command.threads,
                               .claim = command.claim,
                               .grace = command.grace,
                               .on_event = [&](const JobEvent& event) { print_event(event); }});
    if (command.once) worker.end_when_idle();
    return run_until_over(worker, signals, fork_server);
  } catch (const Failure& failure) {
    return fail(failure.error());
  }
}

}  // namespace

constinit const CommandSpec commands::jobs_work{
    .name = "jobs work",
    .usage = "--exec PROGRAM [OPTION]...",
    .purpose = "Run jobs, each with a program",
    .options = work_options,
    .more =
        R"(PROGRAM runs without a shell, in a process group of its own. Its stdin is the arguments as one JSON array, and its
environment has HOLDFAST_JOB, HOLDFAST_NAME, HOLDFAST_ATTEMPT, HOLDFAST_KEY, HOLDFAST_TOKEN and HOLDFAST_OWNER. The job
is done if PROGRAM exits with 0, and has failed otherwise. A job whose name is not a plain file name fails. When a job
is cancelled or lost, the group gets TERM, then KILL; when the worker is killed, KILL.

On INT or TERM the worker starts no more jobs. Running jobs continue for --grace; then they are stopped and handed back
to the queue. A second signal stops them at once. With --json, events go to stdout, and what programs print goes to stderr.

  holdfast jobs work --exec 'handlers/{name}' --queue default --queue slow
  holdfast jobs work --exec /opt/app/run-job --threads 1 --once)",
    .read = reads<work_of>,
    .takes_quiet = true,
};

}  // namespace holdfast::cli
