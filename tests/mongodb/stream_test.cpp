// SPDX-License-Identifier: Apache-2.0
// Which of the streams of a replica set are still there.
#include "stores/mongodb/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace holdfast::mongodb {
namespace {

struct Pair {
  Fd ours, theirs;
};

Pair connected() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

TEST(StreamOfMongo, one_of_several_that_was_closed_is_noticed) {
  Deadline deadline;
  EXPECT_TRUE(deadline.any_closed()) << "nothing is open";
  Pair primary = connected(), secondary = connected();
  mongoc_stream_t* first = stream_on(std::move(primary.ours), deadline);
  mongoc_stream_t* second = stream_on(std::move(secondary.ours), deadline);
  EXPECT_FALSE(deadline.any_closed());
  primary.theirs.reset();
  EXPECT_TRUE(deadline.any_closed()) << "although another was opened after it";
  first->destroy(first);
  EXPECT_FALSE(deadline.any_closed());
  second->destroy(second);
  EXPECT_TRUE(deadline.any_closed());
}

}  // namespace
}  // namespace holdfast::mongodb
