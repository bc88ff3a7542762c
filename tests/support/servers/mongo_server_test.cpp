// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/mongo_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/support/servers/process_checks.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Mongo : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = mongodb_missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(Mongo, keeps_its_port_and_its_data_when_it_is_stopped_and_when_it_is_killed) {
  MongoServer server;
  const int port = server.port();
  // Not `majority`: of a standalone server it does not wait for the journal, whatever `j` says.
  const auto insert = [&](const std::string& id) {
    server.command("app", R"({"insert": "t", "documents": [{"_id": )" + id +
                              R"(}], "writeConcern": {"w": 1, "j": true}})");
  };
  insert("1");
  server.stop();
  server.start();
  insert("2");
  server.kill();
  server.start();
  // Not `count`, which MongoDB only estimates after it was killed.
  EXPECT_THAT(server.command("app", R"({"find": "t"})"),
              AllOf(HasSubstr(R"("_id" : 1 )"), HasSubstr(R"("_id" : 2 )")));
  EXPECT_EQ(server.port(), port);
}

TEST_F(Mongo, says_why_it_refuses) {
  const MongoServer server;
  const auto refused = [&](const std::string& json) -> std::string {
    try {
      return server.command("app", json);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refused(R"({"dance": 1})"), HasSubstr("no such command"));
  EXPECT_THAT(refused("dance"), HasSubstr("MongoDB refuses dance"));
}

TEST_F(Mongo, runs_beside_another_and_leaves_no_process_and_no_folder) {
  auto one = std::make_unique<MongoServer>();
  const MongoServer other;
  one->command("app", R"({"create": "mine"})");
  EXPECT_THAT(other.command("app", R"({"listCollections": 1})"), HasSubstr(R"("firstBatch" : [  ])"));
  const int pid = one->pid();
  const std::string folder = one->folder();
  one.reset();
  EXPECT_TRUE(gone(pid));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_THAT(other.command("app", R"({"ping": 1})"), HasSubstr(R"("ok" : 1.0)"));
}

TEST_F(Mongo, that_is_paused_answers_nothing_and_then_all) {
  MongoServer server;
  server.pause();
  EXPECT_TRUE(await([&] { return state_of(server.pid()) == "T"; }));
  std::string answer;
  std::thread asking([&] { answer = server.command("app", R"({"ping": 1})"); });
  server.resume();
  asking.join();
  EXPECT_THAT(answer, HasSubstr(R"("ok" : 1.0)"));
}

TEST_F(Mongo, ends_and_takes_its_folder_along_when_the_test_is_killed) {
  expect_it_to_end_with_the_test([] { return std::make_unique<MongoServer>(); });
}

TEST_F(Mongo, is_shared_where_a_database_of_ones_own_will_do) {
  EXPECT_THAT(shared_mongodb().command("app", R"({"ping": 1})"), HasSubstr(R"("ok" : 1.0)"));
}

TEST(MongoAddress, puts_the_database_where_it_belongs) {
  EXPECT_EQ(MongoAddress("mongodb://a:b@h:1,i:2/x?w=1").url("db"), "mongodb://a:b@h:1,i:2/db?w=1");
  EXPECT_EQ(MongoAddress("mongodb://h").url("db"), "mongodb://h/db");
  EXPECT_EQ(MongoAddress("mongodb://h/").url(), "mongodb://h/app");
  EXPECT_EQ(MongoAddress("mongodb://h/?w=1").url("db"), "mongodb://h/db?w=1");
}

}  // namespace
}  // namespace holdfast::test
