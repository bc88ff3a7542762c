// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "base/fd.h"

namespace holdfast::test {

std::string proc_file(pid_t pid, const std::string& file) {
  const Fd fd(::open(("/proc/" + std::to_string(pid) + "/" + file).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; fd && (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

std::string status_line(pid_t pid, const std::string& name) {
  const std::string status = proc_file(pid, "status");
  const std::size_t at = status.find("\n" + name + "\t");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 2;
  return status.substr(from, status.find('\n', from) - from);
}

bool runs(pid_t pid) {
  const std::string state = pid > 0 ? status_line(pid, "State:") : "";
  if (state.empty()) return false;
  if (state[0] != 'Z' && state[0] != 'X') return true;
  const std::string threads = status_line(pid, "Threads:");
  return !threads.empty() && std::stoi(threads) > 1;
}

bool is_stopped(pid_t pid) {
  bool some = false;
  std::error_code gone;
  for (std::filesystem::directory_iterator task("/proc/" + std::to_string(pid) + "/task", gone), end;
       !gone && task != end; task.increment(gone)) {
    const std::string status = proc_file(pid, "task/" + task->path().filename().string() + "/status");
    if (status.find("\nState:\tT") == std::string::npos) return false;
    some = true;
  }
  return some && !gone;
}

bool send_signal(pid_t pid, int number) { return pid > 1 && ::kill(pid, number) == 0; }

// -1 would be everybody.
bool send_signal_to_group(pid_t leader, int number) { return leader > 1 && ::kill(-leader, number) == 0; }

namespace {

template <class Condition>
std::vector<pid_t> processes_that(Condition condition) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name[0] < '1' || name[0] > '9') continue;
    const pid_t pid = std::stoi(name);
    if (condition(pid)) found.push_back(pid);
  }
  return found;
}

// Of its first thread that lives: one that has ended has none.
std::string environment_of(pid_t pid) {
  std::string text = proc_file(pid, "environ");
  std::error_code gone;
  for (std::filesystem::directory_iterator task("/proc/" + std::to_string(pid) + "/task", gone), end;
       !gone && text.empty() && task != end; task.increment(gone)) {
    text = proc_file(pid, "task/" + task->path().filename().string() + "/environ");
  }
  return text;
}

}  // namespace

std::vector<pid_t> session_of(pid_t leader) {
  return processes_that([leader](pid_t pid) { return ::getsid(pid) == leader; });
}

std::vector<pid_t> marked_with(const std::string& mark) {
  const std::string variable = '\0' + ("HOLDFAST_TEST_MARK=" + mark) + '\0';
  return processes_that([&](pid_t pid) {
    return ('\0' + environment_of(pid)).find(variable) != std::string::npos && runs(pid);
  });
}

std::vector<pid_t> family_of(const std::string& mark) {
  std::vector<pid_t> found = marked_with(mark);
  std::erase_if(found, [](pid_t pid) { return proc_file(pid, "comm") != "test_family\n"; });
  return found;
}

std::vector<pid_t> children_of(pid_t pid) {
  // Of its first thread, which is the only one of ours that forks.
  std::istringstream children(proc_file(pid, "task/" + std::to_string(pid) + "/children"));
  return {std::istream_iterator<pid_t>(children), {}};
}

pid_t guard_of(pid_t main) {
  for (const pid_t child : children_of(main)) {
    if (proc_file(child, "comm") == "holdfast-guard\n") return child;
  }
  return 0;
}

pid_t command_of(pid_t main) {
  const pid_t guard = guard_of(main);
  if (guard == 0) return 0;
  for (const pid_t child : children_of(guard)) {
    if (runs(child) && proc_file(child, "comm") != "holdfast-guard\n") return child;
  }
  return 0;
}

}  // namespace holdfast::test
