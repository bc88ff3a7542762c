// SPDX-License-Identifier: Apache-2.0
// suite.h - short words for what the ancestors and other lock libraries got wrong.
#pragma once
#include "tests/client/suite.h"

namespace holdfast::test {

class AsTheAncestors : public ClientTest {
 protected:
  LeaseRow row(std::string_view key) { return by_hand_.inspect(key).lease; }
};

}  // namespace holdfast::test
