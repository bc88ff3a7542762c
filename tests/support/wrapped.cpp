// SPDX-License-Identifier: Apache-2.0
// Apart from databases.cpp, because the bench counts too and starts servers in its own way.
#include "tests/support/databases.h"

namespace holdfast::test {
namespace {

class WrappedStore final : public Store {
 public:
  using Wrap = std::function<std::unique_ptr<StoreConnection>(std::unique_ptr<StoreConnection>)>;
  WrappedStore(std::shared_ptr<Store> inner, Wrap wrap) : inner_(std::move(inner)), wrap_(std::move(wrap)) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override {
    auto store = inner_->connect(until);
    if (!store) return store;
    return wrap_(*std::move(store));
  }
  std::unique_ptr<StoreAdmin> admin() override { return inner_->admin(); }
  Result<std::shared_ptr<Store>> in(std::string_view table) override { return inner_->in(table); }
  std::string name() const override { return inner_->name(); }
  const std::string& client() const noexcept override { return inner_->client(); }
  int proof_of_life() const override { return inner_->proof_of_life(); }
  void abandon() noexcept override { inner_->abandon(); }

 private:
  const std::shared_ptr<Store> inner_;
  const Wrap wrap_;
};

}  // namespace

std::shared_ptr<Store> wrapped(std::shared_ptr<Store> inner, WrappedStore::Wrap wrap) {
  return std::make_shared<WrappedStore>(std::move(inner), std::move(wrap));
}

}  // namespace holdfast::test
