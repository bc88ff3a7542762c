// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

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

}  // namespace
}  // namespace holdfast
