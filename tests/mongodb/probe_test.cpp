// SPDX-License-Identifier: Apache-2.0
// How the answers of servers that cannot be run here are read.
#include "stores/mongodb/probe.h"

#include <gtest/gtest.h>

#include "tests/support/findings.h"

namespace holdfast::mongodb {
namespace {

StoreConfig config(bool allow_unsafe, std::vector<std::string> accept = {}) {
  return {.options = {.uri = {},
                      .collection = "locks",
                      .allow_unsafe = allow_unsafe,
                      .accept = std::move(accept)},
          .uri = nullptr,
          .database = "app",
          .place = "db:27017",
          .secrets = {},
          .client = "0123456789abcdef"};
}

// mongos puts its own clock into what it passes on, and there may be several of them.
TEST(ProbeOfMongo, a_router_is_refused_unless_it_is_allowed) {
  const ServerProbe router{.router = true};
  try {
    require_safe(router, config(false));
    ADD_FAILURE() << "it was taken";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code, Errc::refused);
    EXPECT_NE(failure.error().detail.find("db:27017 is a router"), std::string::npos);
  }
  EXPECT_NO_THROW(require_safe(router, config(true)));
  EXPECT_EQ(traits_of(router, config(true)).grade, Grade::D);
}

TEST(ProbeOfMongo, what_is_accepted_by_its_topic_is_taken_and_nothing_else) {
  const ServerProbe both{.router = true, .vanishing_index = "tidy"};
  EXPECT_THROW(require_safe(both, config(false, {"mongodb.router"})), Failure);
  EXPECT_THROW(require_safe(both, config(false, {"mongodb.ttl-index"})), Failure);
  const StoreConfig daring = config(false, {"mongodb.router", "mongodb.ttl-index"});
  EXPECT_NO_THROW(require_safe(both, daring));
  EXPECT_EQ(traits_of(both, daring).grade, Grade::D);
  EXPECT_TRUE(test::about(traits_of(both, daring), "mongodb.router")->accepted);
}

TEST(ProbeOfMongo, a_replica_set_is_good) {
  const ServerProbe set{.set = "rs0"};
  EXPECT_NO_THROW(require_safe(set, config(false)));
  EXPECT_EQ(traits_of(set, config(false)).grade, Grade::B);
  EXPECT_TRUE(traits_of(set, config(false)).push);
  EXPECT_TRUE(test::found(traits_of(set, config(false))).empty());
}

}  // namespace
}  // namespace holdfast::mongodb
