// SPDX-License-Identifier: Apache-2.0
// seam.h - a bare StoreConnection, without a client around it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/store.h"

namespace holdfast::bench {

class Seam {
 public:
  explicit Seam(const std::string& url);

  void acquire_and_release(std::string_view key);
  void acquire(std::string_view key);
  // All that was acquired, in one batch.
  void renew_all();

 private:
  Token apply(const Request& request);

  const std::shared_ptr<Store> store_;
  const std::unique_ptr<StoreConnection> connection_;
  const std::string owner_;
  struct Held {
    std::string key;
    Token token;
  };
  std::vector<Held> held_;
};

}  // namespace holdfast::bench
