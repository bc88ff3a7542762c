// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/machine.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "base/time.h"
#include "stores/sqlite/fault.h"

namespace holdfast::sqlite {

Result<Machine> this_machine() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  Machine machine{.boottime = [] { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); },
                  .walltime = [] { return wall_now().time_since_epoch(); }};
  errno = 0;
  if (!(std::ifstream(path) >> machine.boot_id)) {
    Error error = system_error(std::string("cannot read ") + path, errno != 0 ? errno : ENOENT);
    if (error.code == Errc::refused) error.detail += "; Holdfast needs it to notice a reboot: mount /proc";
    return error;
  }
  // A kernel without time namespaces has no such file, and one clock for all.
  struct stat ns {};
  if (::stat("/proc/self/ns/time", &ns) == 0) machine.time_namespace = ns.st_ino;
  return machine;
}

}  // namespace holdfast::sqlite
