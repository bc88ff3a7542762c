// SPDX-License-Identifier: Apache-2.0
// Servers name the other members of their set, and the driver connects to them: what it may send there.
#include "tests/mongodb/fake_member.h"
#include "tests/mongodb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {
namespace {

// A seed on this machine, and the primary on another: 0.0.0.0 leads here too, but nothing that knows only
// addresses can show.
class TopologyOfMongo : public ::testing::Test {
 protected:
  std::string elsewhere() const { return "0.0.0.0:" + primary_.port(); }
  std::string url(const std::string& parameters = "") const {
    return "mongodb://" + user_ + seed_.place() + "/app?replicaSet=rs0" + parameters;
  }
  std::string probe_of(const std::string& me) const {
    return hello_of_set(me, elsewhere(), {seed_.place(), elsewhere()});
  }

  std::string user_ = "ann:s3cr3t@";
  const Status loaded_ = mongodb::load_mongoc();
  const FakeMember primary_{[this](const std::string&) { return probe_of(elsewhere()); }};
  const FakeMember seed_{[this](const std::string&) { return probe_of(seed_.place()); }};
};

TEST_F(TopologyOfMongo, nothing_is_said_in_plaintext_to_a_member_on_another_machine) {
  const Status status = try_connect(url());
  EXPECT_EQ(primary_.heard(), "");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused) << status.error().detail;
  EXPECT_TRUE(mentions(status.error().detail, elsewhere())) << status.error().detail;
  EXPECT_TRUE(mentions(status.error().detail, "tls=true")) << status.error().detail;
}

TEST_F(TopologyOfMongo, with_tls_false_or_unsafe_a_member_on_another_machine_is_used) {
  for (const char* word : {"&tls=false", "&unsafe=allow", "&accept=mongodb.tls"}) {
    const std::size_t before = primary_.connections();
    EXPECT_FALSE(try_connect(url(word))) << "this one lets nobody in";
    EXPECT_GT(primary_.connections(), before) << word;
  }
  EXPECT_TRUE(mentions(primary_.heard(), "saslStart"));
}

TEST_F(TopologyOfMongo, doctor_reports_a_member_that_is_contacted_in_plaintext) {
  user_ = "";
  const Diagnosis diagnosis = try_store(url("&tls=false")).value()->admin()->diagnose(soon()).value();
  ASSERT_TRUE(has(diagnosis, "mongodb.tls", Severity::warning));
  EXPECT_TRUE(mentions(the(diagnosis, "mongodb.tls").what, elsewhere()));
}

// The driver has asked the first already when it hears of the second.
TEST_F(TopologyOfMongo, a_member_that_is_down_delays_nobody) {
  const std::string down = "127.0.0.1:" + std::to_string(free_port());
  std::string place;
  const FakeMember up([&](const std::string&) { return hello_of_set(place, place, {place, down}); });
  place = up.place();
  const Status status = try_connect("mongodb://" + place + "/app?replicaSet=rs0");
  EXPECT_TRUE(status) << status.error().detail;
}

TEST_F(TopologyOfMongo, a_primary_that_is_down_is_named_with_the_reason) {
  const std::string down = "127.0.0.1:" + std::to_string(free_port());
  std::string place;
  const FakeMember up([&](const std::string&) { return hello_of_set(place, down, {place, down}); });
  place = up.place();
  const Status status = try_connect("mongodb://" + place + "/app?replicaSet=rs0");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable);
  EXPECT_TRUE(mentions(status.error().detail, down + ": Connection refused")) << status.error().detail;
}

}  // namespace
}  // namespace holdfast::test
