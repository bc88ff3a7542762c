// SPDX-License-Identifier: Apache-2.0
// Data of other programs under the key of a lease, and leases that look like such data.
#include "tests/redis/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

class OtherDataOfRedis : public RedisTest {
 protected:
  Caller caller_{server_.url()};
};

TEST_F(OtherDataOfRedis, a_string_without_an_expiry_and_a_holder_is_no_lease) {
  redis({"SET", "nightly", "app data"});
  const auto asked = caller_.try_acquire("nightly");
  ASSERT_FALSE(asked) << "it reads as held by " << asked->owner;
  EXPECT_EQ(asked.error().code, Errc::refused);
  for (const char* words : {"\"nightly\"", "data of another program", "no expiry", "?prefix="})
    EXPECT_TRUE(mentions(asked.error().detail, words)) << asked.error().detail;
  const auto shown = caller_.connection().list({.prefix = "nightly", .exact = true}, soon());
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().detail, asked.error().detail);
  EXPECT_EQ(redis({"GET", "nightly"}), "app data");
  Caller apart(server_.url() + "?prefix=locks:");
  EXPECT_EQ(apart.acquire("nightly", "ann").verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, among_others_it_is_refused_as_well_and_harms_no_other) {
  redis({"SET", "nightly", "app data"});
  const std::vector<Request> requests{
      {.verb = Verb::acquire, .key = {"nightly"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"daily"}, .owner = {"ann"}, .ttl = 1h}};
  std::vector<Reply> replies(2);
  ASSERT_TRUE(caller_.connection().apply(requests, replies, soon()));
  ASSERT_TRUE(replies[0].error);
  EXPECT_EQ(replies[0].error->code, Errc::refused);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, the_holder_of_a_key_that_other_data_replaced_has_lost_it) {
  caller_.acquire("nightly", "ann");
  redis({"SET", "nightly", "app data"});
  EXPECT_EQ(caller_.renew("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(caller_.release("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(redis({"GET", "nightly"}), "app data");
}

// A value that may be a lease: with an expiry, a UUID as redis_exp_lock writes it, or an owner in our facts.
TEST_F(OtherDataOfRedis, what_may_be_a_lease_is_busy) {
  redis({"SET", "expires", "app data", "PX", "3600000"});
  redis({"SET", "uuid", "0b8e2a5c-5a43-4c0b-9d0e-1c2d3e4f5a6b"});
  redis({"SET", "forgotten", "host:db1 pid:17 guid:0123456789abcdef0123456789abcdef"});
  caller_.acquire("endless", "olga", never);
  for (const char* key : {"expires", "uuid", "forgotten", "endless"})
    EXPECT_EQ(caller_.acquire(key, "ann").verdict, Verdict::busy) << key;
  EXPECT_EQ(caller_.acquire("endless", "olga").verdict, Verdict::granted);
  redis({"SET", "by-name", "olga"});
  EXPECT_EQ(caller_.acquire("by-name", "olga").verdict, Verdict::granted) << "who is named there";
}

TEST_F(OtherDataOfRedis, is_counted_by_doctor_where_leases_are_named) {
  const auto diagnosis = [&](const std::string& parameters = "") {
    return try_store(server_.url() + parameters).value()->admin()->diagnose(soon()).value();
  };
  caller_.acquire("endless", "olga", never);
  caller_.acquire("nightly", "ann");
  redis({"SET", "uuid", "0b8e2a5c-5a43-4c0b-9d0e-1c2d3e4f5a6b"});
  redis({"HSET", "cart", "apples", "3"});
  EXPECT_FALSE(about(diagnosis(), "redis.other-keys"));
  redis({"SET", "report", "app data"});
  redis({"SET", "l*cks:image", std::string(1 << 16, 'x')});
  redis({"SET", "locks:x", "1"});
  ASSERT_TRUE(has(diagnosis(), "redis.other-keys", Severity::note));
  EXPECT_TRUE(the(diagnosis(), "redis.other-keys").what.starts_with("3 keys do not look like leases"));
  EXPECT_TRUE(the(diagnosis("?prefix=l*cks:"), "redis.other-keys")
                  .what.starts_with("1 key does not look like a lease"));
  EXPECT_TRUE(mentions(the(diagnosis("?prefix=l*cks:"), "redis.other-keys").what, "\"image\""));
  EXPECT_FALSE(about(diagnosis("?db=1"), "redis.other-keys"));
}

}  // namespace
}  // namespace holdfast::test
