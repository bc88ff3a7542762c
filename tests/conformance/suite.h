// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the contract's tests: a client asks a store one thing.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "holdfast/store.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {

using namespace std::chrono_literals;

// One client of the database under test, with one connection.
class Caller {
 public:
  explicit Caller(TestDatabase& database) : origin_(database.new_client()), store_(connect(*origin_)) {}

  Reply ask(const Request& request) {
    Reply reply;
    const Status status = store_->apply({&request, 1}, {&reply, 1}, soon());
    EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().detail);
    return reply;
  }
  Reply acquire(std::string_view key, std::string_view holder, Millis ttl = 1h, Millis place = 0ms) {
    return ask({.verb = Verb::acquire, .key = {key}, .holder = {holder}, .ttl = ttl, .place = place});
  }
  Reply renew(std::string_view key, std::string_view holder, Token token = no_token, Millis ttl = 1h) {
    return ask({.verb = Verb::renew, .key = {key}, .holder = {holder}, .token = token, .ttl = ttl});
  }
  Reply extend(std::string_view key, std::string_view holder, Millis by) {
    return ask({.verb = Verb::renew, .key = {key}, .holder = {holder}, .ttl = by, .extend = true});
  }
  Reply release(std::string_view key, std::string_view holder, Token token = no_token) {
    return ask({.verb = Verb::release, .key = {key}, .holder = {holder}, .token = token});
  }
  Reply leave(std::string_view key, std::string_view holder) {
    return ask({.verb = Verb::release, .key = {key}, .holder = {holder}, .place = 1ms});
  }
  Reply evict(std::string_view key, Token token, std::string_view by, std::string_view why) {
    return ask({.verb = Verb::evict, .key = {key}, .holder = {by}, .token = token, .note = why});
  }
  // A lease that has run out by the time this returns.
  Reply acquire_and_let_expire(std::string_view key, std::string_view holder) {
    const Reply reply = acquire(key, holder, 2ms);
    let_pass(4ms);
    return reply;
  }

  Store& store() { return *store_; }
  Origin& origin() { return *origin_; }
  static Instant soon() { return BootClock::now() + 10s; }

 private:
  static std::unique_ptr<Store> connect(Origin& origin) { return origin.connect(soon()).value(); }

  const std::shared_ptr<Origin> origin_;
  const std::unique_ptr<Store> store_;
};

class Conformance : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Caller a_{*database_}, b_{*database_}, c_{*database_};
};

}  // namespace holdfast::test
