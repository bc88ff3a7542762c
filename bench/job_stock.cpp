// SPDX-License-Identifier: Apache-2.0
#include "bench/job_stock.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include "base/random.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int enqueuers = 8;

Instant soon() { return clamped_add(BootClock::now(), 30s); }

}  // namespace

JobHand::JobHand(Store& store, std::string queue)
    : queue_(std::move(queue)), engine_(store.jobs(soon()).value()), name_(random_hex(16)) {}

void JobHand::enqueue() {
  const std::string key = "lock:Bench:" + random_hex(16);
  const auto told =
      engine_->enqueue({.name = "Bench", .queue = queue_, .args = "[1]", .key = key}, soon()).value();
  if (told.what != EnqueueReply::What::enqueued)
    throw std::runtime_error("a job of the bench was not enqueued");
}

bool JobHand::work() {
  const std::string owner = name_ + "-" + std::to_string(++claims_);
  const Claimed got = engine_->claim({.queues = {&queue_, 1}, .owner = {owner}}, soon()).value();
  if (got.what == Claimed::What::nothing) return false;
  if (got.what != Claimed::What::running) throw std::runtime_error("a job of the bench found its lock held");
  const Finished told = engine_
                            ->finish({.id = got.job.id,
                                      .owner = {owner},
                                      .to = JobState::done,
                                      .lock = {got.job.lock},
                                      .token = got.job.token},
                                     soon())
                            .value();
  if (!told.finished) throw std::runtime_error("a job of the bench was taken away");
  return true;
}

std::uint64_t enqueue_many(Store& store, const std::string& queue, std::uint64_t count, Millis patience) {
  const Instant end = clamped_add(BootClock::now(), patience);
  std::atomic<std::uint64_t> begun = 0, enqueued = 0;
  std::exception_ptr trouble;
  std::vector<std::unique_ptr<JobHand>> hands;
  for (int i = 0; i < enqueuers; ++i) hands.push_back(std::make_unique<JobHand>(store, queue));
  {
    std::atomic_flag failed;
    std::vector<std::jthread> threads;
    for (const auto& hand : hands) {
      threads.emplace_back([&] {
        try {
          for (; begun++ < count && BootClock::now() < end; ++enqueued) hand->enqueue();
        } catch (...) {
          if (!failed.test_and_set()) trouble = std::current_exception();
        }
      });
    }
  }
  if (trouble) std::rethrow_exception(trouble);
  return enqueued;
}

}  // namespace holdfast::bench
