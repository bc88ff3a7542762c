// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <sqlite3.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace holdfast::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

}  // namespace

Machine this_machine() {
  utsname system{};
  uname(&system);
  double load = 0;
  getloadavg(&load, 1);
  return {.cores = static_cast<int>(std::thread::hardware_concurrency()),
          .processor = processor(),
          .kernel = std::string(system.sysname) + " " + system.release + " " + system.machine,
#ifdef __clang__
          .compiler = std::string("clang ") + __VERSION__,
#else
          .compiler = std::string("gcc ") + __VERSION__,
#endif
#ifdef __OPTIMIZE__
          .build = "optimised",
#else
          .build = "not optimised",
#endif
          .sqlite = sqlite3_libversion(),
          .load_before = load};
}

}  // namespace holdfast::bench
