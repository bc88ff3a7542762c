// SPDX-License-Identifier: Apache-2.0
// suite.h - three clients of one database of each kind, for the contract's tests.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/databases.h"

namespace holdfast::test {

class Conformance : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Caller a_{*database_}, b_{*database_}, c_{*database_};
};

}  // namespace holdfast::test
