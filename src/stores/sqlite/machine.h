// SPDX-License-Identifier: Apache-2.0
// machine.h - what the store asks the machine it runs on.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "holdfast/clock.h"
#include "holdfast/result.h"
#include "stores/sqlite/file_system.h"
#include "stores/sqlite/lock_visibility.h"

namespace holdfast::sqlite {

// A value, so that a test can give another one: after a reboot, or with a wall clock that jumps.
struct Machine {
  std::string boot_id = {};               // new with each start of the kernel
  std::uint64_t time_namespace = 0;       // processes of another one read another CLOCK_BOOTTIME
  std::function<Micros()> boottime = {};  // decides what has run out
  std::function<Micros()> walltime = {};  // for people, and the clock part of tokens
  // Of a folder, as file_system_of() counts.
  std::function<std::uint32_t(const std::string&)> file_system = file_system_of;
  // In a folder, between two processes.
  std::function<std::optional<LockVisibility>(const std::string&)> lock_visibility = lock_visibility_in;
};

Result<Machine> this_machine();

}  // namespace holdfast::sqlite
