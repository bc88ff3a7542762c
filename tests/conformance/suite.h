// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the contract's tests: a client asks a store one thing.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {

using namespace std::chrono_literals;

// One client of the database under test, with one connection.
class Caller {
 public:
  explicit Caller(TestDatabase& database) : store_(database.new_client()), connection_(connect(*store_)) {}

  Reply ask(const Request& request) {
    Reply reply;
    const Status status = connection_->apply({&request, 1}, {&reply, 1}, soon());
    EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().detail);
    return reply;
  }
  Reply acquire(std::string_view key, std::string_view owner, Ttl ttl = 1h, Millis place = 0ms) {
    return ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = ttl, .place = place});
  }
  Reply renew(std::string_view key, std::string_view owner, Token token = no_token, Ttl ttl = 1h) {
    return ask({.verb = Verb::renew, .key = {key}, .owner = {owner}, .token = token, .ttl = ttl});
  }
  Reply extend(std::string_view key, std::string_view owner, Millis by) {
    return ask({.verb = Verb::renew, .key = {key}, .owner = {owner}, .ttl = by, .extend = true});
  }
  Reply release(std::string_view key, std::string_view owner, Token token = no_token) {
    return ask({.verb = Verb::release, .key = {key}, .owner = {owner}, .token = token});
  }
  Reply leave(std::string_view key, std::string_view owner) {
    return ask({.verb = Verb::release, .key = {key}, .owner = {owner}, .place = 1ms});
  }
  Reply evict(std::string_view key, Token token, std::string_view by, std::string_view why) {
    return ask({.verb = Verb::evict, .key = {key}, .owner = {by}, .token = token, .note = why});
  }
  // A lease that has run out by the time this returns.
  Reply acquire_and_let_expire(std::string_view key, std::string_view owner) {
    const Reply reply = acquire(key, owner, 2ms);
    let_pass(4ms);
    return reply;
  }

  StoreConnection& connection() { return *connection_; }
  Store& store() { return *store_; }
  static Instant soon() { return BootClock::now() + 10s; }

 private:
  static std::unique_ptr<StoreConnection> connect(Store& store) { return store.connect(soon()).value(); }

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
};

class Conformance : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Caller a_{*database_}, b_{*database_}, c_{*database_};
};

}  // namespace holdfast::test
