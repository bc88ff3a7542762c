// SPDX-License-Identifier: Apache-2.0
#include "base/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis long_enough = 1min;

bool blocks_every_signal() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE}) {
    if (sigismember(&mask, signal) != 1) return false;
  }
  return true;
}

TEST(Worker, has_no_thread_until_given_work) {
  Worker worker;
  EXPECT_FALSE(worker.started());
  EXPECT_FALSE(worker.is_this_thread());
  worker.finish(long_enough);
}

TEST(Worker, blocks_all_signals_in_its_thread_and_none_in_the_callers) {
  ASSERT_FALSE(blocks_every_signal());
  std::promise<bool> blocked;
  Worker worker([&] { blocked.set_value(blocks_every_signal()); });
  EXPECT_TRUE(blocked.get_future().get());
  EXPECT_FALSE(blocks_every_signal());
  worker.finish(long_enough);
}

TEST(Worker, finish_waits_for_the_end_of_the_work) {
  std::atomic<bool> ended = false;
  std::promise<void> go;
  Worker worker([&, told = go.get_future().share()] {
    told.wait();
    ended = true;
  });
  EXPECT_TRUE(worker.started());
  EXPECT_FALSE(worker.is_this_thread());
  go.set_value();
  worker.finish(long_enough);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(worker.started());
  worker.finish(long_enough);  // once more does nothing
}

TEST(Worker, what_the_work_owned_is_gone_when_finish_returns) {
  auto owned = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = owned;
  Worker worker([owned] {});
  owned.reset();
  worker.finish(long_enough);
  EXPECT_TRUE(watched.expired());
}

TEST(Worker, finish_runs_out_of_patience_and_leaves_the_work_to_itself) {
  const auto go = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  {
    Worker worker([told = go->get_future().share(), ended] {
      told.wait();
      ended->set_value();
    });
    worker.finish(1ms);
    EXPECT_FALSE(worker.started());
  }
  go->set_value();
  ended->get_future().wait();
}

TEST(Worker, finish_on_its_own_thread_does_not_wait_for_itself) {
  struct Owner {
    Worker worker;
    std::promise<void> stored;
    std::promise<bool> left;
  };
  const auto owner = std::make_shared<Owner>();
  auto left = owner->left.get_future();
  owner->worker = Worker([owner] {
    owner->stored.get_future().wait();
    const bool here = owner->worker.is_this_thread();
    owner->worker.finish(long_enough);
    owner->left.set_value(here && !owner->worker.started());
  });
  owner->stored.set_value();
  EXPECT_TRUE(left.get());
}

}  // namespace
}  // namespace holdfast
