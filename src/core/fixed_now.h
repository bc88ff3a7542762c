// SPDX-License-Identifier: Apache-2.0
// fixed_now.h - for tests: a store whose clock stands still.
#pragma once
#include "holdfast/clock.h"

namespace holdfast::core {

// A store that can put a moment in the place of its server's `now`, so that a test can ask at the very
// microsecond at which a lease, a claim or a pause ends (tests/conformance/rule_table_test.cpp,
// tests/engines/job_table_test.cpp).
class FixedNow {
 public:
  // For the connections that are opened after this.  Since 1970.
  virtual void fix_now(Micros now) = 0;
  // The smallest difference of time that the store knows.
  virtual Micros tick() const { return Micros(1); }
  // False: all but the ends of leases goes by that `now`; these the server ends by itself.
  virtual bool fixes_leases() const { return true; }

 protected:
  ~FixedNow() = default;
};

}  // namespace holdfast::core
