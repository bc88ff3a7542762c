// SPDX-License-Identifier: Apache-2.0
// databases.h - the real databases that the contract is tested on.  A new store adds a line in
// databases.cpp and has all of it.
#pragma once
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "holdfast/store.h"

namespace holdfast::test {

// An empty database of its own, gone with this object.
class TestDatabase {
 public:
  virtual ~TestDatabase() = default;
  virtual std::shared_ptr<Origin> new_client() = 0;
  virtual bool has_tables() const { return true; }
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<TestDatabase>()> make;
};
inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::vector<Kind> all_kinds();

// Each store that `inner` opens is passed through `wrap`: to count, or to plant faults.
std::shared_ptr<Origin> wrapped(std::shared_ptr<Origin> inner,
                                std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)> wrap);

}  // namespace holdfast::test

// TEST_P(Suite, …) on every database.
#define HOLDFAST_ON_EVERY_STORE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::ValuesIn(::holdfast::test::all_kinds()), \
                           [](const auto& param_info) { return param_info.param.name; })
