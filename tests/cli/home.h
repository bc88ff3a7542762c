// SPDX-License-Identifier: Apache-2.0
// home.h - an empty home for one test, and the command run in it.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/proc.h"
#include "tests/cli/process.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
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

// What both kinds of tests below are made of.
class Household {
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

  // holdfast run KEY OPTIONS -- sh -c SCRIPT, started, and its first word was printed.
  Process hold(const std::string& key, const Words& options = {},
               const std::string& script = "exec sleep 1000") const {
    Words words{"run", key};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", "echo held; " + script});
    Process process = start(words);
    EXPECT_TRUE(process.await_out("held\n")) << process.err();
    return process;
  }
  // The lease on that key is renewed so often from now on: what is left of it has grown.
  bool is_renewed(const std::string& key, int times) const {
    long last = std::numeric_limits<long>::max();
    return await(
        [&] {
          const std::string shown = holdfast({"show", key, "--json"}).out;
          const std::string name = "\"remaining_ms\":";
          const std::size_t at = shown.find(name);
          if (at == std::string::npos) return false;  // the store does not answer
          const long now = std::stol(shown.substr(at + name.size()));
          if (now > std::exchange(last, now)) --times;
          return times <= 0;
        },
        long_enough);
  }
  // Stops it, and returns when.  Not in the middle of a write to the embedded store, whose file it would
  // keep until it goes on: then it goes on, and is stopped again.
  Instant stop(const Process& process) const {
    Instant stopped{};
    EXPECT_TRUE(await([&] {
      process.signal(SIGSTOP);
      EXPECT_TRUE(await([&] { return is_stopped(process.pid()); }));
      stopped = BootClock::now();
      if (environment_.contains("HOLDFAST_STORE") || is_writable()) return true;
      process.signal(SIGCONT);
      let_pass(Millis(20));
      return false;
    }));
    return stopped;
  }
  // Nobody is in the middle of a write to the embedded store, or not for long.
  bool is_writable() const {
    Process sqlite(plan(
        {"sqlite3", path(".local/state/holdfast/leases.db"), ".timeout 100", "BEGIN IMMEDIATE", "ROLLBACK"}));
    return sqlite.wait() == 0;
  }
  bool is_free(const std::string& key) const { return holdfast({"run", "-n", key, "true"}).code == 0; }

  std::map<std::string, std::string> environment_{{"PATH", "/usr/bin:/bin"}, {"HOME", scratch_.path()}};
};

// On the store that is there without a word: SQLite in the home.
class Home : public ::testing::Test, protected Household {};

// On every store that processes share.  SQLite is the one in the home.
class HomeOn : public ::testing::TestWithParam<Kind>, protected Household {
 protected:
  HomeOn() {
    if (!is_server()) return;
    database_ = GetParam().make();
    environment_["HOLDFAST_STORE"] = database_->url();
  }
  static bool is_server() { return GetParam().server; }
  // Of a holder that is going to be killed.  The embedded store sees that at once; a server has to wait.
  static std::string ttl_of_the_dead() { return is_server() ? "3s" : "1h"; }
  // That is renewed a few times in a test, also by one who is kept waiting for three seconds.
  static constexpr const char* short_ttl = "5s";

  std::unique_ptr<TestDatabase> database_;  // a server's
};

}  // namespace holdfast::test
