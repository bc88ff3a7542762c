// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/machine.h"

#include <sys/stat.h>

#include <fstream>

#include "base/wall_clock.h"

namespace holdfast::sqlite {

Result<Machine> this_machine() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  Machine machine{.boottime = [] { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); },
                  .walltime = wall_now};
  if (!(std::ifstream(path) >> machine.boot_id)) {
    return Error{Errc::refused,
                 std::string("cannot read ") + path + ": without it a reboot cannot be told; mount /proc"};
  }
  // A kernel without time namespaces has no such file, and one clock for all.
  struct stat ns {};
  if (::stat("/proc/self/ns/time", &ns) == 0) machine.time_namespace = ns.st_ino;
  return machine;
}

}  // namespace holdfast::sqlite
