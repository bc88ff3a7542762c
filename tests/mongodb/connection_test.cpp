// SPDX-License-Identifier: Apache-2.0
// Which of the streams of a replica set are still there.
#include "stores/mongodb/connection.h"

#include <gtest/gtest.h>
#include <poll.h>
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

TEST(StreamOfMongo, one_without_a_socket_fails_at_once_and_counts_for_nothing) {
  Deadline deadline;
  Pair pair = connected();
  mongoc_stream_t* good = stream_on(std::move(pair.ours), deadline);
  mongoc_stream_t* broken = stream_on(Fd(), deadline);
  char byte = 'x';
  mongoc_iovec_t part{&byte, 1};
  EXPECT_LT(broken->writev(broken, &part, 1, 60'000), 0);
  EXPECT_LT(broken->readv(broken, &part, 1, 1, 60'000), 0);
  EXPECT_FALSE(deadline.wrote);
  EXPECT_FALSE(deadline.any_closed()) << "of those that were open";
  mongoc_stream_poll_t both[] = {{good, POLLIN, 0}, {broken, POLLIN, 0}};
  EXPECT_GT(broken->poll(&both[0], 2, 60'000), 0);
  EXPECT_EQ(both[0].revents, 0);
  EXPECT_EQ(both[1].revents, POLLERR);
  good->destroy(good);
  broken->destroy(broken);
}

}  // namespace
}  // namespace holdfast::mongodb
