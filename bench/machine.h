// SPDX-License-Identifier: Apache-2.0
// machine.h - what the figures were taken on.
#pragma once
#include <string>

namespace holdfast::bench {

struct Machine {
  int cores = 0;
  std::string processor, kernel, compiler, build, sqlite;
  double load_before = 0;  // the load average of the last minute
};
Machine this_machine();

}  // namespace holdfast::bench
