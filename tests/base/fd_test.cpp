// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>

#include "base/wakeup.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

int opened() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, owns_nothing_at_first) {
  const Fd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(Fd, closes_what_it_owns) {
  const int raw = opened();
  {
    const Fd fd(raw);
    EXPECT_TRUE(fd);
    EXPECT_EQ(fd.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, a_moved_descriptor_has_one_owner) {
  const int raw = opened();
  Fd first(raw);
  Fd second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: what a move leaves behind is the point
  EXPECT_EQ(second.get(), raw);
  EXPECT_TRUE(is_open(raw));
}

TEST(Fd, assigning_closes_what_was_owned_before) {
  const int before = opened(), after = opened();
  Fd target(before), source(after);
  target = std::move(source);
  EXPECT_FALSE(is_open(before));
  EXPECT_EQ(target.get(), after);
  EXPECT_TRUE(is_open(after));
}

TEST(Fd, assigning_to_itself_keeps_it_open) {
  Fd fd(opened());
  Fd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(fd);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(Fd, releasing_leaves_it_open) {
  Fd fd(opened());
  const Fd kept(fd.release());
  EXPECT_FALSE(fd);
  fd.reset();
  EXPECT_TRUE(is_open(kept.get()));
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  Fd out, in;
};

TEST(Poll, what_is_ready_is_seen_even_when_the_time_is_over) {
  const Pipe pipe;
  EXPECT_TRUE(await(pipe.in.get(), POLLOUT, BootClock::now() - 1s));
}

TEST(Poll, what_does_not_come_is_given_up) {
  const Pipe pipe;
  const Instant until = BootClock::now() + 5ms;
  EXPECT_FALSE(await(pipe.out.get(), POLLIN, until));
  EXPECT_GE(BootClock::now(), until);
}

TEST(Poll, a_closed_end_is_news_too) {
  Pipe pipe;
  pipe.in.reset();
  EXPECT_TRUE(await(pipe.out.get(), POLLIN, Instant::max()));
}

using Why = Wakeup::Why;

constexpr Instant long_ago{1ns};

TEST(Wakeup, a_moment_in_the_past_returns_at_once) {
  Wakeup wakeup;
  for (const Instant at : {long_ago, Instant{}, Instant::min(), BootClock::now()})
    EXPECT_EQ(wakeup.wait(at), Why::moment);
}

TEST(Wakeup, sleeps_until_the_moment_and_not_less) {
  Wakeup wakeup;
  for (const Millis length : {1ms, 5ms, 2ms}) {
    const Instant at = BootClock::now() + length;
    EXPECT_EQ(wakeup.wait(at), Why::moment);
    EXPECT_GE(BootClock::now(), at);
  }
}

TEST(Wakeup, a_ring_before_the_wait_counts) {
  Wakeup wakeup;
  wakeup.ring();
  EXPECT_EQ(wakeup.wait(Instant::max()), Why::ready);
}

TEST(Wakeup, many_rings_before_the_wait_count_as_one) {
  Wakeup wakeup;
  for (int i = 0; i < 1000; ++i) wakeup.ring();
  EXPECT_EQ(wakeup.wait(Instant::max()), Why::ready);
  EXPECT_EQ(wakeup.wait(long_ago), Why::moment);
}

TEST(Wakeup, a_ring_is_not_lost_if_the_time_is_over_too) {
  Wakeup wakeup;
  wakeup.ring();
  EXPECT_EQ(wakeup.wait(long_ago), Why::ready);
  EXPECT_EQ(wakeup.wait(long_ago), Why::moment);
}

TEST(Wakeup, a_ring_from_another_thread_wakes) {
  Wakeup wakeup;
  std::thread other([&] { wakeup.ring(); });
  EXPECT_EQ(wakeup.wait(Instant::max()), Why::ready);
  other.join();
}

TEST(Wakeup, the_moment_of_one_wait_does_not_end_the_next) {
  Wakeup wakeup;
  EXPECT_EQ(wakeup.wait(long_ago), Why::moment);
  std::thread other([&] { wakeup.ring(); });
  EXPECT_EQ(wakeup.wait(Instant::max()), Why::ready);
  other.join();
}

TEST(Wakeup, a_readable_descriptor_wakes_and_is_left_unread) {
  Wakeup wakeup;
  const Fd extra(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
  EXPECT_EQ(wakeup.wait(Instant::max(), extra.get()), Why::extra);
  std::uint64_t count = 0;
  EXPECT_EQ(::read(extra.get(), &count, sizeof count), static_cast<ssize_t>(sizeof count));
  EXPECT_EQ(wakeup.wait(long_ago, extra.get()), Why::moment);
}

TEST(Wakeup, a_ring_is_returned_before_a_readable_descriptor) {
  Wakeup wakeup;
  const Fd extra(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
  wakeup.ring();
  EXPECT_EQ(wakeup.wait(Instant::max(), extra.get()), Why::ready);
  EXPECT_EQ(wakeup.wait(Instant::max(), extra.get()), Why::extra);
}

TEST(Wakeup, a_signal_does_not_end_the_wait) {
  struct sigaction act {
  }, before{};
  act.sa_handler = [](int) {};
  sigaction(SIGUSR1, &act, &before);
  Wakeup wakeup;
  const pthread_t waiter = pthread_self();
  std::atomic<bool> woken = false;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) pthread_kill(waiter, SIGUSR1);
    EXPECT_FALSE(woken);
    wakeup.ring();
  });
  EXPECT_EQ(wakeup.wait(Instant::max()), Why::ready);
  woken = true;
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace holdfast
