// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the tests of what only the MongoDB store does.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "holdfast/holdfast.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {

using namespace std::chrono_literals;

inline std::string with(const std::string& url, const std::string& parameters) {
  return url + (mentions(url, "?") ? "&" : "?") + parameters;
}

// A number from the server's status: the first of that name after `section`.
inline double status_of(const MongoAddress& server, const std::string& section, const std::string& name) {
  const std::string status = server.command("admin", R"({"serverStatus": 1})");
  const std::size_t at = status.find("\"" + name + "\" : ", status.find("\"" + section + "\""));
  return at == std::string::npos ? -1 : std::stod(status.substr(at + name.size() + 5));
}

inline std::string text(JobId id) { return std::to_string(to_number(id)); }

// A database of its own in the server that the tests share.
class MongoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = shared_mongodb_missing(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (shared_mongodb_missing().empty()) mongo(R"({"dropDatabase": 1})");
  }
  std::string url() const { return shared_mongodb().url(database_); }
  std::string mongo(const std::string& json) const { return shared_mongodb().command(database_, json); }

  const std::string database_ = "t_" + random_hex(16);
};

// A server of its own, to be stopped and killed.
class OwnMongoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = mongodb_missing(); !why.empty()) GTEST_SKIP() << why;
    server_ = std::make_unique<MongoServer>();
  }
  std::string url() const { return server_->url(); }

  std::unique_ptr<MongoServer> server_;
};

}  // namespace holdfast::test
