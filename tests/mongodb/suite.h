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
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {

using namespace std::chrono_literals;

inline Instant soon() { return BootClock::now() + 20s; }

inline bool mentions(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

inline std::string with(const std::string& url, const std::string& parameters) {
  return url + (mentions(url, "?") ? "&" : "?") + parameters;
}

// A number from the server's status: the first of that name after `section`.
inline double status_of(const MongoAddress& server, const std::string& section, const std::string& name) {
  const std::string status = server.command("admin", R"({"serverStatus": 1})");
  const std::size_t at = status.find("\"" + name + "\" : ", status.find("\"" + section + "\""));
  return at == std::string::npos ? -1 : std::stod(status.substr(at + name.size() + 5));
}

// What becomes of the attempt to open a store there.
inline Status try_connect(const std::string& url, Instant until = soon()) {
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  auto connection = (*store)->connect(until);
  if (!connection) return std::move(connection).error();
  return Status{};
}

// One client with one connection.
class Caller {
 public:
  explicit Caller(const std::string& url)
      : store_(try_store(url).value()), connection_(store_->connect(soon()).value()) {}

  Result<Reply> try_ask(const Request& request, Instant until = soon()) {
    Reply reply;
    const Status status = connection_->apply({&request, 1}, {&reply, 1}, until);
    if (!status) return status.error();
    return reply;
  }
  Reply ask(const Request& request) { return try_ask(request).value(); }
  std::vector<Reply> ask_all(const std::vector<Request>& requests) {
    std::vector<Reply> replies(requests.size());
    const Status status = connection_->apply(requests, replies, soon());
    if (!status) throw Failure(status.error());
    return replies;
  }

  Reply acquire(std::string_view key, std::string_view owner, Ttl ttl = 1h, Millis place = 0ms) {
    return ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = ttl, .place = place});
  }
  Result<Reply> try_acquire(std::string_view key, std::string_view owner = "ann", Instant until = soon()) {
    return try_ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h}, until);
  }
  Reply renew(std::string_view key, std::string_view owner, Token token = no_token, Ttl ttl = 1h) {
    return ask({.verb = Verb::renew, .key = {key}, .owner = {owner}, .token = token, .ttl = ttl});
  }
  Reply release(std::string_view key, std::string_view owner, Token token = no_token) {
    return ask({.verb = Verb::release, .key = {key}, .owner = {owner}, .token = token});
  }
  Reply evict(std::string_view key, Token token, std::string_view why) {
    return ask({.verb = Verb::evict, .key = {key}, .owner = {"op"}, .token = token, .note = why});
  }
  Page list(const Query& query) { return connection_->list(query, soon()).value(); }
  Traits examine() { return connection_->examine(soon()).value(); }

  StoreConnection& connection() { return *connection_; }
  Store& store() { return *store_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
};

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
