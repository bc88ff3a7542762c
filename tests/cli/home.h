// SPDX-License-Identifier: Apache-2.0
// home.h - an empty home for one test, and the command run in it.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/proc.h"
#include "tests/cli/process.h"
#include "tests/support/await.h"
#include "tests/support/scratch.h"

#ifndef HOLDFAST_BINARY
#define HOLDFAST_BINARY "holdfast"  // no build says which, so the one in PATH
#endif

namespace holdfast::test {

struct Ended {
  int code;
  std::string out;
  std::string err;
};

class Home : public ::testing::Test {
 private:
  Scratch scratch_;

 protected:
  using Words = std::vector<std::string>;

  std::string path(const std::string& name) const { return scratch_.path() + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  // Nothing but what the test put there.
  bool is_empty() const { return std::filesystem::is_empty(scratch_.path()); }

  Process::Plan plan(Words command) const {
    Process::Plan plan{.command = std::move(command), .environment = environment_, .folder = scratch_.path()};
    return plan;
  }
  Process::Plan holdfast_plan(const Words& words) const {
    Words command{HOLDFAST_BINARY};
    command.insert(command.end(), words.begin(), words.end());
    return plan(std::move(command));
  }

  // holdfast WORDS, in this home.
  Process start(const Words& words) const { return Process(holdfast_plan(words)); }
  Ended holdfast(const Words& words) const {
    Process process = start(words);
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }

  // holdfast run KEY OPTIONS -- sh -c SCRIPT, started and seen to run: the script's first word is said.
  Process hold(const std::string& key, const Words& options = {},
               const std::string& script = "exec sleep 1000") const {
    Words words{"run", key};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", "echo held; " + script});
    Process process = start(words);
    EXPECT_TRUE(process.await_out("held\n")) << process.err();
    return process;
  }
  bool is_free(const std::string& key) const { return holdfast({"run", "-n", key, "true"}).code == 0; }

  std::map<std::string, std::string> environment_{{"PATH", "/usr/bin:/bin"}, {"HOME", scratch_.path()}};
};

}  // namespace holdfast::test
