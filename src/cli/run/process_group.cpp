// SPDX-License-Identifier: Apache-2.0
#include "cli/run/process_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace holdfast::cli {
namespace {

// What a line of /proc/PID/stat begins with.
struct Stat {
  char state = 'X';
  pid_t parent = 0;
  pid_t group = 0;
  int threads = 0;
  // The state is that of its first thread, which may end long before the others.
  bool runs() const noexcept { return (state != 'Z' && state != 'X') || threads > 1; }
};

// PID (NAME) STATE PARENT GROUP … THREADS …, where NAME may hold anything.
Stat stat_in(std::string_view text) noexcept {
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return {};
  std::string_view rest = text.substr(name_end + 2);
  constexpr int fields = 18;  // as far as THREADS
  std::string_view field[fields];
  for (std::string_view& each : field) {
    each = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(each.size() + 1, rest.size()));
  }
  if (field[0].empty()) return {};
  const auto number = [&](int at) {
    int value = 0;
    std::from_chars(field[at].data(), field[at].data() + field[at].size(), value);
    return value;
  };
  return {.state = field[0][0], .parent = number(1), .group = number(2), .threads = number(fields - 1)};
}

// As of a dead one if it is gone meanwhile.
Stat stat_of(int proc, std::string_view pid) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "%.*s/stat", static_cast<int>(std::min<std::size_t>(pid.size(), 16)),
                pid.data());
  const Fd file(::openat(proc, path, O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  return size > 0 ? stat_in({text, static_cast<std::size_t>(size)}) : Stat{};
}

// Calls `visit(pid, stat)` for every process until it says true; false if none did.  Nothing, if there is
// nobody to ask.
template <class Visit>
std::optional<bool> any_process(Visit visit) noexcept {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc) return std::nullopt;
  alignas(dirent64) char entries[4096];
  for (ssize_t size = 0; (size = ::getdents64(proc.get(), entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const std::string_view name(entry->d_name);
      pid_t pid = 0;
      std::from_chars(name.data(), name.data() + name.size(), pid);
      if (pid > 0 && visit(pid, stat_of(proc.get(), name))) return true;
    }
  }
  return false;
}

// It runs, or is to be collected by us.  Not so a dead one that somebody else traces: that may take for ever.
bool is_left(pid_t child, const Stat& stat) noexcept {
  if (stat.runs()) return true;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

// Those that the kernel lists for our first thread, which is the one that forks and is given orphans.  The
// list is short where all of /proc is long; it may miss one while others end.
bool kill_listed_children() noexcept {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char path[64];
  std::snprintf(path, sizeof path, "self/task/%d/children", ::getpid());
  const Fd file(::openat(proc.get(), path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  bool found = false;
  std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  // Each number ends in a space: the last may be half of one.
  for (std::size_t end = 0; (end = rest.find(' ')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    pid_t pid = 0;
    std::from_chars(rest.data(), rest.data() + end, pid);
    if (pid <= 0 || !is_left(pid, stat_of(proc.get(), rest.substr(0, end)))) continue;
    ::kill(pid, SIGKILL);
    found = true;
  }
  return found;
}

bool kill_children_of(pid_t us) noexcept {
  bool found = false;
  any_process([&](pid_t pid, const Stat& stat) {
    if (stat.parent != us || !is_left(pid, stat)) return false;
    ::kill(pid, SIGKILL);
    found = true;
    return false;
  });
  return found;
}

}  // namespace

Group::Group(pid_t number) noexcept : number_(number) {
  assert(number > 1);  // 0 would be our own group, -1 everybody
}

void Group::signal(int signal) noexcept {
  if (*this && ::kill(-number_, signal) != 0 && errno == ESRCH) gone_ = true;
}

bool Group::is_empty() noexcept {
  signal(0);
  return !*this;
}

bool Group::is_dead() noexcept {
  if (is_empty()) return true;
  const auto in_group = [this](pid_t, const Stat& stat) { return stat.runs() && stat.group == number_; };
  return any_process(in_group) == false;  // nobody to ask: the kernel's word above stands
}

pid_t Group::whom_we_may_not_end() noexcept {
  const pid_t us = ::getpid();
  const bool ours = !is_empty();
  pid_t found = 0;
  any_process([&](pid_t pid, const Stat& stat) {
    if (!stat.runs() || (stat.parent != us && !(ours && stat.group == number_))) return false;
    if (::kill(pid, 0) == 0 || errno != EPERM) return false;
    found = pid;
    return true;
  });
  return found;
}

bool kill_children() noexcept {
  const pid_t us = ::getpid();
  // Twice: while we read, one may die whom we passed over, and leave us one whom we had passed.
  return kill_listed_children() || kill_children_of(us) || kill_children_of(us);
}

bool runs(pid_t child) noexcept {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return proc && stat_of(proc.get(), std::to_string(child)).runs();
}

bool has_children() noexcept {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void become_subreaper() noexcept { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace holdfast::cli
