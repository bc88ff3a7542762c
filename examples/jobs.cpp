// SPDX-License-Identifier: Apache-2.0
// jobs.cpp - a job that is wanted once, a worker that does it, and a schedule.
#include <holdfast/holdfast.h>

#include <condition_variable>
#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

struct Thumbnail {
  static constexpr std::string_view name = "Thumbnail";
  static constexpr holdfast::JobLock lock{.loner = true};  // not twice in the queue for one picture
  static constexpr int max_attempts = 2;
  static holdfast::Millis backoff(int) { return 10ms; }

  void perform(holdfast::JobContext& job, const std::string& picture) {
    if (job.attempt() == 1) throw std::runtime_error("the disk is full");
    std::cout << "  a thumbnail of " << picture << ", at attempt " << job.attempt() << "\n";
  }
};

struct Report {
  static constexpr std::string_view name = "Report";
  void perform(holdfast::JobContext& job) {
    std::cout << "  the report, at attempt " << job.attempt() << "\n";
  }
};

// What a worker says of its jobs, one line each; waits for the end of so many.
class Diary {
 public:
  void write(const holdfast::JobEvent& event) {
    using What = holdfast::JobEvent::What;
    const std::lock_guard lock(mutex_);
    std::cout << event.job.name << " " << to_number(event.job.id) << ": " << to_string(event.what)
              << (event.detail.empty() ? "" : ", " + event.detail) << "\n";
    if (event.what == What::done || event.what == What::died) ++over_;
    changed_.notify_all();
  }
  void await(int over) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ >= over; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int over_ = 0;
};

int main() {
  holdfast::Jobs jobs{holdfast::open("sqlite:jobs.db")};
  jobs.define<Thumbnail>().define<Report>();

  for (int i = 0; i < 2; ++i) {
    const auto result = jobs.perform_later<Thumbnail>("cat.jpg");
    if (const auto* mine = std::get_if<holdfast::Enqueued>(&result))
      std::cout << "enqueued as job " << to_number(mine->id) << "\n";
    if (const auto* other = std::get_if<holdfast::Duplicate>(&result))
      std::cout << "job " << to_number(other->id) << " is " << to_string(other->state) << " already\n";
  }

  Diary diary;
  holdfast::JobWorker worker(jobs,
                             {.threads = 1, .on_event = [&](const auto& event) { diary.write(event); }});
  diary.await(1);

  // Every night at two, by one of all the processes that say so; and once today, by hand.
  jobs.cron("Report", "0 2 * * *", "Europe/Berlin", {.deadline = 48h});
  jobs.perform_later<Report>();
  diary.await(2);
}  // the schedule ends with the last Jobs, the worker when its jobs have
