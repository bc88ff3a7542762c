// SPDX-License-Identifier: Apache-2.0
#include "cli/process_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace holdfast::cli {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const noexcept { ::closedir(dir); }
};

std::string stat_of(const char* pid) {
  const Fd file(::open(("/proc/" + std::string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

// PID (NAME) STATE PARENT GROUP …, where NAME may hold anything.
bool runs_in(pid_t group, std::string_view stat) {
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return false;  // gone meanwhile
  const std::string_view rest = stat.substr(name_end + 2);
  const char state = rest[0];
  const std::size_t parent_end = rest.find(' ', 2);
  if (state == 'Z' || state == 'X' || parent_end == std::string_view::npos) return false;
  pid_t its_group = 0;
  std::from_chars(rest.data() + parent_end + 1, rest.data() + rest.size(), its_group);
  return its_group == group;
}

bool somebody_runs_in(pid_t group) {
  const std::unique_ptr<DIR, CloseDir> proc(::opendir("/proc"));
  if (!proc) return true;  // nobody to ask, so the kernel's word stands
  while (const dirent* entry = ::readdir(proc.get())) {
    const bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (is_process && runs_in(group, stat_of(entry->d_name))) return true;
  }
  return false;
}

}  // namespace

void signal_group(pid_t group, int signal) noexcept {
  assert(group > 1);  // 0 would be our own group, -1 everybody
  ::kill(-group, signal);
}

bool group_is_empty(pid_t group) noexcept { return ::kill(-group, 0) != 0 && errno == ESRCH; }

bool group_is_dead(pid_t group) { return group_is_empty(group) || !somebody_runs_in(group); }

void become_subreaper() noexcept { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace holdfast::cli
