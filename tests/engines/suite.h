// SPDX-License-Identifier: Apache-2.0
// suite.h - two workers on one database of each kind, for the tests of job engines.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "tests/support/await.h"
#include "tests/support/caller.h"
#include "tests/support/databases.h"
#include "tests/support/trail.h"
#include "tests/support/worker.h"

namespace holdfast::test {

class Engine : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Worker a_{*database_}, b_{*database_};
  Caller lease_{*database_};  // a client that uses only leases
};

}  // namespace holdfast::test
