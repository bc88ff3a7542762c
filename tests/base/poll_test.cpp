// SPDX-License-Identifier: Apache-2.0
#include "base/poll.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace holdfast
