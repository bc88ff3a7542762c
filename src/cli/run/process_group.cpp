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

// The first fields of /proc/PID/stat.
struct Stat {
  char state = 'X';
  pid_t parent = 0;
  pid_t group = 0;
  int threads = 0;
  // The state is that of the first thread, which may end long before the others.
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

// As for a dead process if it is gone.
Stat stat_of(int proc, std::string_view pid) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "%.*s/stat", static_cast<int>(std::min<std::size_t>(pid.size(), 16)),
                pid.data());
  const Fd file(::openat(proc, path, O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  return size > 0 ? stat_in({text, static_cast<std::size_t>(size)}) : Stat{};
}

// None if it does not describe us: /proc may be missing, empty, or that of another pid namespace, where the
// same numbers are other processes.
Fd open_proc() noexcept {
  Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char self[16];
  const ssize_t size = proc ? ::readlinkat(proc.get(), "self", self, sizeof self) : -1;
  pid_t there = 0;
  if (size > 0) std::from_chars(self, self + size, there);
  // In another namespace our own number may be the same by chance, but not also that of our parent.
  if (there != ::getpid() || stat_of(proc.get(), "self").parent != ::getppid()) proc.reset();
  return proc;
}

// Calls `visit(pid, stat)` for each process until it returns true; false if it never did.  nullopt without
// /proc.
template <class Visit>
std::optional<bool> any_process(Visit visit) noexcept {
  const Fd proc = open_proc();
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

// Asks the kernel, without /proc.
enum class Child { none, lives, collectable };
Child child_of_ours(pid_t pid) noexcept {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return Child::none;
  return info.si_pid == pid ? Child::collectable : Child::lives;
}

// It runs, or we can collect it.  False for a zombie that another process traces: that may take forever.
bool is_left(pid_t pid, const Stat& stat) noexcept {
  const Child child = child_of_ours(pid);
  return child == Child::collectable || (child == Child::lives && stat.runs());
}

// Kills the children that the kernel lists for our first thread, which forks and gets the orphans.  This list
// is shorter than all of /proc, but may miss a child while others end.
bool kill_listed_children() noexcept {
  const Fd proc = open_proc();
  char path[64];
  std::snprintf(path, sizeof path, "self/task/%d/children", ::getpid());
  const Fd file(::openat(proc.get(), path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  bool found = false;
  std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  // Each number ends with a space; the last one may be cut off.
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

// Without /proc: tries each number, which takes a second for all of them.  The numbers of children mostly
// follow our own, so after a child was found, numbers far above it are left to the next call.
void kill_numbered_children(pid_t us) noexcept {
  constexpr pid_t all = 1 << 22;  // the kernel's own limit
  constexpr pid_t far = 1 << 16;
  for (pid_t n = 0, last = all; n < all && n < last; ++n) {
    const pid_t pid = (us + n) % all + 1;
    if (child_of_ours(pid) == Child::none) continue;
    ::kill(pid, SIGKILL);
    last = n + far;
  }
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
  return any_process(in_group) == false;  // without /proc: the answer of the kernel above stands
}

pid_t Group::unkillable_process() noexcept {
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
  if (!open_proc()) {
    if (!has_children()) return false;
    kill_numbered_children(us);
    return true;
  }
  // Twice: while we read, a process may die and give us a child whose number we had already passed.
  return kill_listed_children() || kill_children_of(us) || kill_children_of(us);
}

bool runs(pid_t child) noexcept {
  if (const Fd proc = open_proc()) return stat_of(proc.get(), std::to_string(child)).runs();
  return child_of_ours(child) == Child::lives;
}

bool has_children() noexcept {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void become_subreaper() noexcept { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace holdfast::cli
