// SPDX-License-Identifier: Apache-2.0
// suite.h - a server of its own for each test of what only the Redis store does.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "holdfast/holdfast.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {

using namespace std::chrono_literals;

class RedisTest : public ::testing::Test {
 protected:
  std::string redis(const std::vector<std::string>& words) { return server_.command(words); }

  RedisServer server_;
};

}  // namespace holdfast::test
