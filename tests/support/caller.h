// SPDX-License-Identifier: Apache-2.0
// caller.h - short words for tests of leases: a client asks a store one thing.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"

namespace holdfast::test {

using namespace std::chrono_literals;

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

inline void make_tables(const std::string& url) {
  (void)try_store(url).value()->admin()->init(soon()).value();
}

// One client with one connection.  `ask` and the verbs throw what `try_ask` returns as an error.
class Caller {
 public:
  explicit Caller(std::shared_ptr<Store> store)
      : store_(std::move(store)), connection_(store_->connect(soon()).value()) {}
  explicit Caller(const std::string& url) : Caller(try_store(url).value()) {}
  explicit Caller(TestDatabase& database) : Caller(database.new_client()) {}
  virtual ~Caller() = default;

  Result<Reply> try_ask(const Request& request, Instant until = soon()) {
    Reply reply;
    if (Status status = connection_->apply({&request, 1}, {&reply, 1}, until); !status)
      return std::move(status).error();
    return reply;
  }
  virtual Reply ask(const Request& request) { return try_ask(request).value(); }
  // In one batch.
  std::vector<Reply> ask_all(const std::vector<Request>& requests) {
    std::vector<Reply> replies(requests.size());
    connection_->apply(requests, replies, soon()).value();
    return replies;
  }

  Result<Reply> try_acquire(std::string_view key, std::string_view owner = "ann", Instant until = soon()) {
    return try_ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h}, until);
  }
  Reply acquire(std::string_view key, std::string_view owner, Ttl ttl = 1h, Millis place = 0ms) {
    return ask({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = ttl, .place = place});
  }
  // A lease that has run out by the time this returns.
  Reply acquire_and_let_expire(std::string_view key, std::string_view owner) {
    const Reply reply = acquire(key, owner, 2ms);
    let_pass(4ms);
    return reply;
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
  Reply evict(std::string_view key, Token token, std::string_view why = "why", std::string_view by = "op") {
    return ask({.verb = Verb::evict, .key = {key}, .owner = {by}, .token = token, .note = why});
  }
  Page list(const Query& query) { return connection_->list(query, soon()).value(); }
  LeaseRow row(std::string_view key) { return list({.prefix = key, .exact = true}).leases.at(0); }
  Traits examine() { return connection_->examine(soon()).value(); }

  std::unique_ptr<StoreListener> listener() { return connection_->listener(soon()).value(); }
  StoreConnection& connection() { return *connection_; }
  Store& store() { return *store_; }

 private:
  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
};

}  // namespace holdfast::test
