// SPDX-License-Identifier: Apache-2.0
// freeze.h - stops a process, and returns when it stands still or has ended.
#pragma once
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/support/await.h"

namespace holdfast::test {

// kill(SIGSTOP) returns before every thread has stopped: on a busy machine one may still answer.
inline void freeze(int pid) {
  if (::kill(pid, SIGSTOP) != 0) return;
  const bool still = await([&] {
    std::error_code gone;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
      std::ifstream stat(task.path() / "stat");
      const std::string text{std::istreambuf_iterator<char>(stat), {}};
      // PID (NAME) STATE …, and the name may have brackets.  T is stopped; Z and X have ended, as has what
      // has no text.
      const std::size_t name_end = text.rfind(')');
      if (name_end != std::string::npos &&
          std::string_view("TZX").find(text.at(name_end + 2)) == std::string_view::npos)
        return false;
    }
    return true;
  });
  if (!still) throw std::runtime_error("process " + std::to_string(pid) + " does not stand still");
}

}  // namespace holdfast::test
