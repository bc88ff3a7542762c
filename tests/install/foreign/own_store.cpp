// SPDX-License-Identifier: Apache-2.0
// What crosses the border of the library: failures that are caught, and a store of the user's own, here one
// around the store in memory that counts.
#include <holdfast/holdfast.h>
#include <holdfast/memory.h>
#include <holdfast/spi/store.h>

#include <atomic>
#include <iostream>

namespace {

class CountingConnection : public holdfast::StoreConnection {
 public:
  CountingConnection(std::unique_ptr<holdfast::StoreConnection> inner, std::atomic<int>& count)
      : inner_(std::move(inner)), count_(count) {}

  holdfast::Status apply(std::span<const holdfast::Request> requests, std::span<holdfast::Reply> replies,
                         holdfast::Instant until) override {
    ++count_;
    return inner_->apply(requests, replies, until);
  }
  holdfast::Result<holdfast::Page> list(const holdfast::Query& query, holdfast::Instant until) override {
    return inner_->list(query, until);
  }
  holdfast::Result<holdfast::Traits> examine(holdfast::Instant until) override {
    return inner_->examine(until);
  }
  // No listener: waiters poll.

 private:
  std::unique_ptr<holdfast::StoreConnection> inner_;
  std::atomic<int>& count_;
};

class CountingStore : public holdfast::Store {
 public:
  explicit CountingStore(std::shared_ptr<holdfast::Store> inner) : inner_(std::move(inner)) {}

  holdfast::Result<std::unique_ptr<holdfast::StoreConnection>> connect(holdfast::Instant until) override {
    auto store = inner_->connect(until);
    if (!store) return std::move(store).error();
    return std::unique_ptr<holdfast::StoreConnection>(new CountingConnection(*std::move(store), count_));
  }
  std::unique_ptr<holdfast::StoreAdmin> admin() override { return inner_->admin(); }
  holdfast::Result<std::shared_ptr<holdfast::Store>> in(std::string_view) override {
    return holdfast::Error{.code = holdfast::Errc::invalid, .detail = "one table is enough"};
  }
  std::string name() const override { return "counting"; }
  const std::string& client() const noexcept override { return inner_->client(); }

  int count() const { return count_; }

 private:
  std::shared_ptr<holdfast::Store> inner_;
  std::atomic<int> count_{0};
};

struct Mine : holdfast::Failure {
  using Failure::Failure;
};

}  // namespace

int main() {
  const auto database = holdfast::memory::make_database();
  const auto store = std::make_shared<CountingStore>(holdfast::memory::store(database));
  holdfast::Client client(store);
  std::cout << "store " << client.store_name() << ", counted "
            << (store->count() > 0 ? "something" : "nothing");
  holdfast::Lease lease = client.acquire("k");
  std::cout << ", then " << (store->count() > 0 ? "something" : "nothing") << "\n";

  try {
    holdfast::Client(holdfast::memory::store(database)).acquire("k");
  } catch (const holdfast::LeaseLost&) {
    std::cout << "wrong\n";
  } catch (const holdfast::Failure& failure) {
    std::cout << "caught Failure " << to_string(failure.error().code) << "\n";
  }

  const auto purged = holdfast::Admin(client).try_purge();
  std::cout << (purged ? "purged" : "not purged") << "\n";

  lease.release();
  try {
    lease.check();
  } catch (const holdfast::LeaseLost&) {
    std::cout << "caught LeaseLost\n";
  }

  try {
    client.in("other");
  } catch (const std::runtime_error& error) {
    std::cout << "caught runtime_error: " << error.what() << "\n";
  }

  try {
    client.run("k", {}, [] { throw Mine({.code = holdfast::Errc::refused, .detail = "by me"}); });
  } catch (const Mine& mine) {
    std::cout << "caught Mine: " << mine.what() << "\n";
  }
}
