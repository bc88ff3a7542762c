// SPDX-License-Identifier: Apache-2.0
// process_checks.h - what tests of the harness ask about the process of a server.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/await.h"

namespace holdfast::test {

inline bool alive(int pid) { return ::kill(pid, 0) == 0; }

// Not even a zombie, which kill() would still find.
inline bool gone(int pid) {
  return await([&] { return !alive(pid); });
}

inline std::string state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state;
}

// Makes a server in a process of its own, which is killed.
template <class Make>
void expect_it_to_end_with_the_test(Make make) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const int test = ::fork();
  if (test == 0) {
    try {
      const auto server = make();
      const std::string line = std::to_string(server->pid()) + " " + server->folder() + "\n";
      if (::write(pipes[1], line.data(), line.size()) > 0) ::pause();
    } catch (const std::exception& error) {
      std::fputs(error.what(), stderr);
    }
    ::_exit(1);
  }
  ::close(pipes[1]);
  std::string line;
  for (char c = 0; ::read(pipes[0], &c, 1) == 1 && c != '\n';) line += c;
  ::close(pipes[0]);
  ASSERT_NE(line, "");
  const int server = std::stoi(line);
  const std::string folder = line.substr(line.find(' ') + 1);
  ASSERT_TRUE(alive(server));
  ::kill(test, SIGKILL);
  EXPECT_TRUE(gone(server));
  EXPECT_TRUE(await([&] { return !std::filesystem::exists(folder); }));
  ::waitpid(test, nullptr, 0);
}

}  // namespace holdfast::test
