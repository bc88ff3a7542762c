// SPDX-License-Identifier: Apache-2.0
#include "tests/processes/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace holdfast::test {

Process::Process(std::vector<std::string> arguments) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) throw std::runtime_error("out of pipes");
  const Fd child_in(down[0]), child_out(up[1]);
  to_.reset(down[1]);
  from_.reset(up[0]);

  std::string program = HOLDFAST_PEER;
  std::vector<char*> words{program.data()};
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
  const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + program);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), to_(std::move(other.to_)), from_(std::move(other.from_)) {}

Process::~Process() { kill(); }

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // -1 would be everybody
}

void Process::kill() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Process::send(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the peer is gone");
}

bool Process::speaks(Millis wait) const {
  pollfd from{from_.get(), POLLIN, 0};
  return ::poll(&from, 1, static_cast<int>(wait.count())) == 1;
}

std::string Process::hear() {
  std::string line;
  for (char c = 0; ::read(from_.get(), &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace holdfast::test
