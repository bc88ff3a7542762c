// SPDX-License-Identifier: Apache-2.0
#include "bench/redis_py.h"

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <stdexcept>

#include "bench/pipe_wire.h"
#include "bench/redis_py_lock.py.h"

namespace holdfast::bench {
// Debian's interpreter: its packages are not seen by another that may stand before it in PATH.
RedisPy::RedisPy(int port) {
  Pipe to, from;
  std::string python = "/usr/bin/python3", flag = "-c", text(redis_py_lock_py), number = std::to_string(port);
  std::array<char*, 5> words{python.data(), flag.data(), text.data(), number.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.out.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, from.in.get(), 1);
  const int failed = posix_spawn(&pid_, python.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    missing_ = "python3 is not installed";
    return;
  }
  from.in.reset();
  to_ = fdopen(to.in.release(), "w");
  from_ = fdopen(from.out.release(), "r");
  const std::string first = answer();
  if (first.starts_with("ready "))
    version_ = first.substr(6);
  else
    missing_ = first.starts_with("missing: ") ? first.substr(9) : "it did not start";
}

RedisPy::~RedisPy() {
  // The end of its input is its end.
  if (to_ != nullptr) std::fclose(to_);
  if (from_ != nullptr) std::fclose(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::string RedisPy::answer() {
  std::array<char, 256> line{};
  if (std::fgets(line.data(), line.size(), from_) == nullptr) return {};
  std::string text(line.data());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

double RedisPy::rate(double seconds) {
  std::fprintf(to_, "%f\n", seconds);
  std::fflush(to_);
  const std::string said = answer();
  if (said.empty()) throw std::runtime_error("redis-py ended without a word");
  return std::stod(said);
}

}  // namespace holdfast::bench
