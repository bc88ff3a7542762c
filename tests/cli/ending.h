// SPDX-License-Identifier: Apache-2.0
// ending.h - a home for tests of how CMD is ended.
#pragma once
#include <string>

#include "tests/cli/home.h"

namespace holdfast::test {

class Ending : public Home {
 protected:
  // Somebody takes the lease away that is held under that name.
  void lose(const std::string& owner = "me") const {
    EXPECT_EQ(holdfast({"release", "k", "--owner", owner}).code, 0);
  }
  // The number that `process` printed after `word`.
  pid_t pid_behind(Process& process, const std::string& word) const {
    EXPECT_TRUE(process.await_out(word + " ")) << process.err();
    EXPECT_TRUE(
        await([&] { return process.out().find('\n', process.out().find(word + " ")) != std::string::npos; }));
    return std::stoi(process.out().substr(process.out().find(word + " ") + word.size() + 1));
  }
  void write_program(const std::string& name, const std::string& script) const {
    std::ofstream(path(name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
  }
  // Nobody can write to the store in this home while the result is there.
  Process lock_store() const {
    Process::Plan sqlite = plan({"sqlite3", path(".local/state/holdfast/leases.db")});
    sqlite.keep_input = true;
    Process process(sqlite);
    process.type(".timeout 5000\nBEGIN IMMEDIATE;\nSELECT 'locked';\n");
    EXPECT_TRUE(process.await_out("locked")) << process.err();
    return process;
  }
  // The store is out of reach until `file` is there.
  void come_near_to_loss(const std::string& file) const {
    const Process lock = lock_store();
    EXPECT_TRUE(await([&] { return exists(file); }));
  }
  // Prints a line on TERM, and continues.
  static constexpr const char* stubborn =
      "trap 'echo told >> told' TERM; echo ready; while :; do sleep 0.05; done";
  // A child with a session of its own, and its grandchild, which nobody waits for.
  static constexpr const char* leaver =
      "setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo away $!; wait' & sleep 1000 & wait";
};

}  // namespace holdfast::test
