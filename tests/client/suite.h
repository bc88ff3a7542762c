// SPDX-License-Identifier: Apache-2.0
// suite.h - clients on every store, and stores that fail on demand.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "holdfast/holdfast.h"
#include "stores/decorators/counted.h"
#include "stores/decorators/faulty.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
#include "tests/support/leases.h"

namespace holdfast::test {

using namespace std::chrono_literals;

// The fault that all stores of a client have now.  Any thread may change it; copies share it, since a
// thread stuck in a hung store outlives its test.
class Trouble {
 public:
  void set(Fault::Kind kind, Millis length = 0ms) {
    state_->length = length.count();
    state_->kind = kind;
  }
  void end() { state_->kind = Fault::Kind::none; }
  Fault now() const { return {state_->kind.load(), Millis(state_->length.load())}; }

 private:
  struct State {
    std::atomic<Fault::Kind> kind = Fault::Kind::none;
    std::atomic<Millis::rep> length = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class ClientTest : public ::testing::TestWithParam<Kind> {
 protected:
  Client new_client(ClientOptions options = {}) {
    return Client(database_->new_client(), std::move(options));
  }
  Client troubled_client(const Trouble& trouble, ClientOptions options = {}) {
    return chosen_client([trouble](std::span<const Request>) { return trouble.now(); }, std::move(options));
  }
  Client chosen_client(Faulty::Choose choose, ClientOptions options = {}) {
    return Client(wrapped(database_->new_client(),
                          [choose](std::unique_ptr<StoreConnection> s) {
                            return std::make_unique<Faulty>(std::move(s), choose);
                          }),
                  std::move(options));
  }
  Client counted_client(Counts& counts) {
    return Client(wrapped(database_->new_client(), [&counts](std::unique_ptr<StoreConnection> s) {
      return std::make_unique<Counted>(std::move(s), counts);
    }));
  }
  // Whether an acquire that arrives late could still be sent; then it must be granted, and freed again.
  bool is_given_back(const Request& late, StoreConnection& stray, Instant until) {
    Reply reply;
    if (!stray.apply({&late, 1}, {&reply, 1}, until)) return false;
    EXPECT_EQ(reply.verdict, Verdict::granted);
    EXPECT_TRUE(await([&] { return is_free(late.key.text); }));
    return true;
  }
  bool is_free(std::string_view key) {
    const auto rows = by_hand_.list({.prefix = key, .exact = true}).leases;
    return rows.empty() || rows[0].remaining == 0ms;
  }
  std::size_t waiting(std::string_view key) {
    return by_hand_.list({.what = Query::What::places, .prefix = key, .exact = true}).places.size();
  }

  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Client observer_ = new_client();
  Admin by_hand_{observer_};
};

}  // namespace holdfast::test
