// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/handler.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stop_token>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "base/wakeup.h"
#include "cli/run/process_group.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void failed(std::string text) { throw_failure({Errc::refused, std::move(text)}); }
// Not the fault of the job: it is handed back, and the attempt is not counted.
[[noreturn]] void stopped(std::string text) { throw_failure({Errc::stopped, std::move(text)}); }

// The machine lacks a resource: later, or on another host, the program may run.
bool is_shortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

constexpr std::string_view name_mark = "{name}", queue_mark = "{queue}";

void check_file_name(std::string_view word, const char* what) {
  const bool plain = !word.empty() && word.front() != '.' && word.find('/') == std::string_view::npos &&
                     word.find('\0') == std::string_view::npos;
  if (!plain)
    failed("cannot use the " + std::string(what) + " \"" + printable(word) +
           "\" of the job in --exec: it is not a plain file name");
}

// A file in memory, so that nobody has to write while the program reads.
Fd input_of(const Args& args) {
  Fd file(::memfd_create("arguments", MFD_CLOEXEC));
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot write its arguments");
  const std::string text = args.text() + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
    if (written < 0) throw std::system_error(errno, std::generic_category(), "cannot write its arguments");
    done += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

template <std::size_t N>
void copy_to(std::array<char, N>& into, std::string_view text) {
  if (text.size() >= N) failed("\"" + printable(text.substr(0, 60)) + "…\" is too long");
  text.copy(into.data(), text.size());
}

class Handler {
 public:
  Handler(const HandlerOptions& options, MainEnd link, const JobContext& context)
      : options_(options), link_(std::move(link)), context_(context) {}

  void start(const Fd& input, const Fd& proof);
  void run();
  // Throws unless the job is done; Errc::stopped if the program is not the cause.
  void conclude(const std::string& program) const;

 private:
  void receive_from_guard();
  void on(const Started& started) { group_ = Group(started.group); }
  void on(const CannotRun& failure);
  void on(const ProgramFailed&) {}  // there is no --on-lost for jobs
  void on(const Stopped&) {}        // somebody stopped it with kill, and may continue it
  void on(const GroupGone&) { group_.mark_gone(); }
  void on(const CannotEnd&) {}  // we wait until it ends
  void on(const Ended& ended);
  void check_job(Instant now);
  void kill_without_guard();

  const HandlerOptions& options_;
  MainEnd link_;
  const JobContext& context_;
  Wakeup wakeup_;
  Instant sent_deadline_ = Instant::min();
  Instant time_over_ = Instant::max();  // the end of --at-most
  Group group_;
  bool stop_sent_ = false;
  bool too_long_ = false;  // because of --at-most
  bool guard_lives_ = true;
  Instant alone_since_ = Instant::max();  // when it closed its link
  bool over_ = false;
  std::optional<int> status_;
  int cannot_run_ = 0;
  bool forced_ = false;
};

void Handler::start(const Fd& input, const Fd& proof) {
  const Instant deadline = context_.deadline();
  const Instant now = BootClock::now();
  if (now >= deadline) stopped("it was not started: its claim had already ended");
  const Moment on_the_wall = wall_now() + std::chrono::floor<Micros>(deadline - now);
  const auto wall_deadline = std::chrono::floor<std::chrono::seconds>(on_the_wall);
  Start start{.deadline = deadline,
              .ttl = options_.claim,
              .token = context_.token(),
              .wall_deadline_s = wall_deadline.time_since_epoch().count(),
              .owner = {},
              .foreground = false};
  copy_to(start.owner, context_.owner());
  sent_deadline_ = deadline;
  time_over_ = clamped_add(now, options_.at_most);
  link_.send(Input{}, input.get());
  link_.send(start, proof.get());
}

void Handler::run() {
  const auto ring = [this] { wakeup_.ring(); };
  const std::stop_callback on_stop(context_.stop_token(), ring);
  const Millis interval = std::min<Millis>(options_.claim / 10, 1s);
  while (!over_) {
    const Instant now = BootClock::now();
    const Instant next = clamped_add(now, guard_lives_ ? interval : recheck_after(now - alone_since_));
    wakeup_.wait(stop_sent_ ? next : std::min(next, time_over_), guard_lives_ ? link_.fd() : -1);
    receive_from_guard();
    check_job(BootClock::now());
    kill_without_guard();
  }
}

void Handler::receive_from_guard() {
  while (const auto message = link_.receive()) {
    std::visit([this](const auto& m) { on(m); }, *message);
  }
  if (!link_.closed()) return;
  if (guard_lives_) alone_since_ = BootClock::now();
  guard_lives_ = false;
  if (group_.number() == 0) over_ = true;  // the guard reports the program before it may exec
}

void Handler::on(const CannotRun& failure) {
  cannot_run_ = failure.error;
  over_ = true;
}

void Handler::on(const Ended& ended) {
  status_ = ended.status;
  forced_ = ended.cause != Cause::none;
  over_ = true;
}

void Handler::check_job(Instant now) {
  if (over_ || (stop_sent_ && !too_long_)) return;
  const Instant deadline = context_.deadline();
  if (!stop_sent_ && (now >= deadline || now >= time_over_)) {
    stop_sent_ = true;
    too_long_ = now < deadline;
    link_.send(Stop{.at_once = false, .grace = options_.kill_after});
  } else if (deadline > sent_deadline_) {
    sent_deadline_ = deadline;
    link_.send(Renewed{deadline});
  }
}

void Handler::kill_without_guard() {
  if (over_ || guard_lives_) return;
  group_.signal(SIGKILL);
  over_ = group_.is_dead();
}

void Handler::conclude(const std::string& program) const {
  if (cannot_run_ != 0)
    (is_shortage(cannot_run_) ? stopped : failed)("cannot run \"" + printable(program) +
                                                  "\": " + std::strerror(cannot_run_));
  const std::string late = "it ran longer than --at-most " + format_duration(options_.at_most);
  if (too_long_ && group_.number() == 0) failed(late);
  if (!status_ && group_.number() == 0) stopped("it was not started: no process could be created for it");
  if (group_.number() == 0) stopped("the job was not started: the worker had to stop first");
  if (!status_ && !stop_sent_) failed("its guard process was killed, and the program with it");
  if (!status_) stopped("it was stopped, and its guard process was killed");
  const bool by_signal = WIFSIGNALED(*status_);
  const std::string how = by_signal ? "killed by signal " + std::to_string(WTERMSIG(*status_))
                                    : "exit " + std::to_string(WEXITSTATUS(*status_));
  // Whatever its exit code is: many programs exit with 0 on TERM, done or not.
  if (too_long_) failed(late + ": " + how);
  if (stop_sent_) stopped("it was stopped: " + how);
  if (forced_) stopped("its claim could not be renewed in time, so it was stopped: " + how);
  if (by_signal || WEXITSTATUS(*status_) != 0) failed(how);
}

void run_program(const HandlerOptions& options, const JobProgram& job_program, ForkServer& fork_server,
                 const Store& store, const JobContext& context) {
  const Fd input = input_of(context.args());
  const Fd proof(store.proof_of_life());
  Handler handler(options, fork_server.send(job_program), context);
  handler.start(input, proof);
  handler.run();
  handler.conclude(job_program.program.data());
}

}  // namespace

std::string program_of(const std::string& exec, std::string_view name, std::string_view queue) {
  if (exec.find(name_mark) != std::string::npos) check_file_name(name, "name");
  if (exec.find(queue_mark) != std::string::npos) check_file_name(queue, "queue");
  // In one pass, so that a queue with the name {name} is not replaced again.
  std::string program;
  for (std::string_view rest = exec; !rest.empty();) {
    const bool at_name = rest.starts_with(name_mark), at_queue = rest.starts_with(queue_mark);
    const std::size_t length = at_name ? name_mark.size() : at_queue ? queue_mark.size() : 1;
    program += at_name ? name : at_queue ? queue : rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return program;
}

void run_handler(const HandlerOptions& options, ForkServer& fork_server, const Store& store,
                 const JobContext& context) {
  const std::string program = program_of(options.exec, context.name(), context.queue());
  JobProgram job_program{
      .job = to_number(context.id()), .attempt = context.attempt(), .key = {}, .name = {}, .program = {}};
  copy_to(job_program.key, context.lock_key());
  copy_to(job_program.name, context.name());
  copy_to(job_program.program, program);
  try {
    run_program(options, job_program, fork_server, store, context);
  } catch (const std::system_error& shortage) {  // of descriptors or memory
    stopped(shortage.what());
  }
}

}  // namespace holdfast::cli
