// SPDX-License-Identifier: Apache-2.0
// Names: of no two leases the same, and in the lease's slot.
#include "stores/redis/keys.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace holdfast::redis {
namespace {

std::string name(Beside what, const std::string& lease) {
  const Companion around = companion(what, lease);
  return std::string(around.before) + lease + std::string(around.after);
}

// What decides the slot, as Redis has it: between the first { and the next }, if there is something.
std::string tag(const std::string& key) {
  const std::size_t open = key.find('{');
  const std::size_t close = open == std::string::npos ? open : key.find('}', open + 1);
  return close == std::string::npos || close == open + 1 ? key : key.substr(open + 1, close - open - 1);
}

TEST(NamingOfRedis, names_differ_whatever_the_keys_are_made_of) {
  Jitter random(random_bits());
  std::map<std::string, std::string> seen;
  for (int i = 0; i < 20'000; ++i) {
    std::string lease;
    for (std::uint64_t n = 1 + random.below(7); n > 0; --n) lease.push_back("{}:=a"[random.below(5)]);
    for (const Beside what : {Beside::facts, Beside::queue, Beside::places}) {
      const std::string whose = lease + "/" + std::to_string(static_cast<int>(what));
      const auto [at, is_new] = seen.emplace(name(what, lease), whose);
      EXPECT_TRUE(is_new || at->second == whose) << at->second << " and " << whose << " are " << at->first;
    }
  }
}

TEST(NamingOfRedis, names_lie_in_the_slot_of_their_lease) {
  for (const std::string lease : {"nightly", "{user:1}:mail", "a{b}c", "{", "a{"}) {
    for (const Beside what : {Beside::facts, Beside::queue, Beside::places})
      EXPECT_EQ(tag(name(what, lease)), tag(lease)) << lease;
  }
}

TEST(NamingOfRedis, names_of_ours_are_reserved_also_behind_a_prefix) {
  EXPECT_TRUE(Naming("").reserved("holdfast:index"));
  EXPECT_TRUE(Naming("").reserved(Naming("").held));
  EXPECT_FALSE(Naming("").reserved("holdfast"));
  EXPECT_TRUE(Naming("hold").reserved("fast:x"));
  EXPECT_FALSE(Naming("hold").reserved("holdfast:x"));
  EXPECT_FALSE(Naming("locks:").reserved("holdfast:x"));
}

}  // namespace
}  // namespace holdfast::redis
