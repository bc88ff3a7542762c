// SPDX-License-Identifier: Apache-2.0
// listener.h - hears when a key may have become free: a change stream on a connection of its own.
//
// UNTESTED: there was no replica set to run it on.  tests/mongodb/listener_test.cpp runs where
// HOLDFAST_TEST_MONGODB names one.  A waiter also polls now and then, as on every store.
#pragma once
#include <memory>

#include "base/worker.h"
#include "holdfast/spi/store.h"
#include "stores/mongodb/config.h"

namespace holdfast::mongodb {

class MongoListener final : public StoreListener {
 public:
  explicit MongoListener(std::shared_ptr<const StoreConfig> config);
  ~MongoListener() override;

  int fd() const noexcept override;
  Result<std::vector<std::string>> ready() override;

 private:
  struct Heard;
  static void listen(const std::shared_ptr<const StoreConfig>& config, Heard& heard);

  const std::shared_ptr<Heard> heard_;
  Worker listener_;
};

}  // namespace holdfast::mongodb
