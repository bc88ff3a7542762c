// SPDX-License-Identifier: Apache-2.0
// Another process with jobs of the same store.  It prints where it is, so that a test can kill or stop it
// there.
//
//   job_peer URL enqueue POINT KEY              enqueues one loner
//   job_peer URL work POINT LOG CLAIM_MS        works until it is killed
//   job_peer URL cron POINT SCHEDULE            enqueues each tick of "Trial", also those that were missed
//
// POINT is STEP-KIND: before-, after- and one of enqueue, claim, finish; or mid-job; or none.  There it
// prints "at POINT" and waits for a line; with "pass:POINT" it prints that and goes on.  For each event of a
// job it prints "event WHAT".  LOG gets a line when a job starts and one when it ends: "PID JOB KEY TOKEN
// start|end MICROS UNTIL", where UNTIL is how long it may believe in its claim.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "holdfast/job_worker.h"
#include "tests/jobs/hooked.h"
#include "tests/jobs/trial_job.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

void write_line(int to, const std::string& text) {
  const std::string line = text + "\n";
  if (::write(to, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
}

class Point {
 public:
  explicit Point(std::string name) : name_(std::move(name)) {
    passes_ = name_.starts_with("pass:");
    if (passes_) name_.erase(0, 5);
  }
  void reached(const std::string& where) {
    if (where != name_) return;
    write_line(1, "at " + where);
    char c = 0;
    while (!passes_ && ::read(0, &c, 1) == 1 && c != '\n') {
    }
  }
  Status reached(const char* when, Step step) {
    switch (step) {
      case Step::enqueue: reached(std::string(when) + "-enqueue"); break;
      case Step::claim: reached(std::string(when) + "-claim"); break;
      case Step::finish: reached(std::string(when) + "-finish"); break;
      case Step::renew:
      case Step::tick: break;
    }
    return Status{};
  }

 private:
  std::string name_;
  bool passes_ = false;
};

int work(Jobs jobs, Point& point, const std::string& log, Millis claim) {
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  define_trial(jobs, [&](const JobContext& context, const char* what) {
    const auto micros = [](Instant at) {
      return std::to_string(std::chrono::floor<Micros>(at.time_since_epoch()).count());
    };
    write_line(file, std::to_string(getpid()) + " " + std::to_string(to_number(context.id())) + " " +
                         std::string(context.lock_key()) + " " + std::to_string(to_number(context.token())) +
                         " " + what + " " + micros(BootClock::now()) + " " + micros(context.deadline()));
    if (what == std::string("start")) point.reached("mid-job");
  });
  const auto say = [](const JobEvent& event) {
    if (event.what != JobEvent::What::started) write_line(1, std::string("event ") + to_string(event.what));
  };
  const JobWorker worker(jobs,
                         {.threads = 1, .claim = claim, .poll = 5ms, .max_crashes = 1000, .on_event = say});
  while (true) ::pause();
}

int keep(Jobs jobs, const std::string& schedule) {
  jobs.cron("Trial", schedule, "UTC",
            {.misfire = CronOptions::Misfire::all, .overlap = CronOptions::Overlap::allow});
  while (true) ::pause();
}

}  // namespace
}  // namespace holdfast::test

int main(int count, char** words) {
  using namespace holdfast;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no test leaves one behind
  if (count < 5) return 64;
  test::Point point(words[3]);
  Jobs jobs{Client(test::hooked(try_store(words[1]).value(),
                                {.before = [&](test::Step step) { return point.reached("before", step); },
                                 .after = [&](test::Step step) { return point.reached("after", step); }}))};
  if (std::string(words[2]) == "work" && count == 6)
    return test::work(jobs, point, words[4], Millis(std::stol(words[5])));
  if (std::string(words[2]) == "cron" && count == 5) return test::keep(jobs, words[4]);
  if (std::string(words[2]) != "enqueue" || count != 5) return 64;
  (void)jobs.try_enqueue("Trial", test::trial_args(words[4]), test::trial_options(true)).value();
  return 0;
}
