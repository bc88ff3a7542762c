// SPDX-License-Identifier: Apache-2.0
// actor.h - what a thread of a simulated process does all day.
#pragma once
#include "sim/task.h"

namespace holdfast::sim {

class Process;

// Acquires, holds, perhaps renews, releases, and again, until the world closes.
Task<> work(Process& process);

}  // namespace holdfast::sim
