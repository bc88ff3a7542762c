// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for the tests of what only the Redis store does.
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
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {

using namespace std::chrono_literals;

inline Instant soon() { return BootClock::now() + 20s; }

inline bool mentions(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
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
  Traits examine() { return connection_->examine(soon()).value(); }
  Page list(const Query& query) { return connection_->list(query, soon()).value(); }

  StoreConnection& connection() { return *connection_; }
  Store& store() { return *store_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
};

class RedisTest : public ::testing::Test {
 protected:
  std::string redis(const std::vector<std::string>& words) { return server_.command(words); }

  RedisServer server_;
};

}  // namespace holdfast::test
