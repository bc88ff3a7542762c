// SPDX-License-Identifier: Apache-2.0
// bell.h - hears when a key may have become free: a change stream on a connection of its own.
//
// UNTESTED: there was no replica set to run it on.  tests/mongodb/bell_test.cpp runs where
// HOLDFAST_TEST_MONGODB names one.  A waiter asks now and then without being rung, as on every store.
#pragma once
#include <memory>

#include "base/worker.h"
#include "holdfast/store.h"
#include "stores/mongodb/site.h"

namespace holdfast::mongodb {

class MongoBell final : public Bell {
 public:
  explicit MongoBell(std::shared_ptr<const Site> site);
  ~MongoBell() override;

  int fd() const noexcept override;
  Result<std::vector<std::string>> rung() override;

 private:
  struct Heard;
  static void listen(const std::shared_ptr<const Site>& site, Heard& heard);

  const std::shared_ptr<Heard> heard_;
  Worker listener_;
};

}  // namespace holdfast::mongodb
