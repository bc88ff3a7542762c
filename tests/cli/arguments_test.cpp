// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run/run.h"
#include "cli/words/values.h"
#include "tests/cli/parse.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// ---- where `run` finds its key, its options and CMD

struct Shape {
  Words words;
  std::string key;
  Words cmd;
  holdfast::Wait wait = forever;
  Millis ttl = 30s;
};

const Shape shapes[] = {
    {{"run", "k", "cmd"}, "k", {"cmd"}},
    {{"run", "k", "--", "cmd"}, "k", {"cmd"}},
    {{"run", "k", "cmd", "a", "b"}, "k", {"cmd", "a", "b"}},
    {{"run", "k", "--", "cmd", "--", "x"}, "k", {"cmd", "--", "x"}},
    {{"run", "k", "cmd", "--", "x"}, "k", {"cmd", "--", "x"}},
    {{"run", "k", "--", "-x"}, "k", {"-x"}},
    {{"run", "k", "--", "--"}, "k", {"--"}},
    {{"run", "-n", "k", "cmd"}, "k", {"cmd"}, 0s},
    {{"run", "k", "-n", "cmd"}, "k", {"cmd"}, 0s},
    {{"run", "k", "cmd", "-n"}, "k", {"cmd", "-n"}},
    {{"run", "k", "cmd", "--ttl", "5s"}, "k", {"cmd", "--ttl", "5s"}},
    {{"run", "k", "cmd", "--json", "--store", "x"}, "k", {"cmd", "--json", "--store", "x"}},
    {{"run", "-w", "5s", "k", "cmd"}, "k", {"cmd"}, 5s},
    {{"run", "-w5s", "k", "cmd"}, "k", {"cmd"}, 5s},
    {{"run", "--wait=5s", "k", "cmd"}, "k", {"cmd"}, 5s},
    {{"run", "k", "--wait", "5s", "--", "cmd"}, "k", {"cmd"}, 5s},
    {{"run", "k", "-w", "5s", "--ttl", "1.5h", "cmd", "-w", "6s"}, "k", {"cmd", "-w", "6s"}, 5s, 90min},
    {{"run", "--ttl=5m", "k", "cmd"}, "k", {"cmd"}, forever, 5min},
    {{"run", "--ttl", "5s", "--ttl", "6s", "k", "cmd"}, "k", {"cmd"}, forever, 6s},
    {{"run", "--", "k", "cmd"}, "k", {"cmd"}},
    {{"run", "--", "-k", "-n"}, "-k", {"-n"}},
    {{"run", "--", "k", "--", "cmd"}, "k", {"cmd"}},
    {{"run", "--note", "-n", "k", "cmd"}, "k", {"cmd"}},
    {{"run", "--note=", "k", "cmd"}, "k", {"cmd"}},
    {{"run", "run", "run"}, "run", {"run"}},
    {{"run", "ls", "help"}, "ls", {"help"}},
    {{"run", "-", "-"}, "-", {"-"}},
    {{"run", "k", "cmd", ""}, "k", {"cmd", ""}},
    {{"run", "a b", "c d"}, "a b", {"c d"}},
    {{"run", "{}", "[x]"}, "{}", {"[x]"}},
    {{"run", "clé", "cmd"}, "clé", {"cmd"}},
    {{"--store", "sqlite:x", "run", "k", "cmd"}, "k", {"cmd"}},
    {{"--store", "run", "run", "k", "cmd"}, "k", {"cmd"}},
    {{"run", "--store", "sqlite:x", "k", "--json", "cmd"}, "k", {"cmd"}},
    {{"--json", "run", "k", "--store=sqlite:x", "cmd"}, "k", {"cmd"}},
    {{"run", "-E", "9", "-n", "k", "cmd"}, "k", {"cmd"}, 0s},
    {{"run", "-nE9", "k", "cmd"}, "k", {"cmd"}, 0s},
};

TEST(CommandLine, every_shape_of_run_is_understood) {
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::PrintToString(shape.words));
    const auto line = parse(shape.words);
    ASSERT_TRUE(line) << line.error().detail;
    const cli::Run run = run_of(line->given);
    EXPECT_EQ(run.key, shape.key);
    EXPECT_EQ(run.command, shape.cmd);
    EXPECT_EQ(run.options.wait, shape.wait);
    EXPECT_EQ(run.options.ttl, shape.ttl);
  }
}

// ---- the rest of the words

TEST(CommandLine, global_options_may_stand_before_and_behind_the_command) {
  for (const Words& words :
       {Words{"--store", "sqlite:x", "--json", "ls"}, Words{"ls", "--store", "sqlite:x", "--json"},
        Words{"--json", "ls", "p/", "--store=sqlite:x"}}) {
    const auto line = parse(words);
    ASSERT_TRUE(line) << line.error().detail;
    EXPECT_EQ(line->common.store, "sqlite:x");
    EXPECT_TRUE(line->common.json);
  }
}

TEST(CommandLine, run_takes_owner_note_and_exit_code) {
  const auto line = parse({"run", "k", "--owner", "me", "--note", "why not", "-E", "0", "cmd"});
  ASSERT_TRUE(line) << line.error().detail;
  const cli::Run run = run_of(line->given);
  EXPECT_EQ(run.options.owner(), "me");
  EXPECT_EQ(run.options.note, "why not");
  EXPECT_EQ(run.busy_code, 0);
  EXPECT_FALSE(run.options.detached);
}

TEST(CommandLine, acquire_waits_for_ever_by_default) {
  const auto line = parse({"acquire", "k"}), at_once = parse({"acquire", "-n", "k"});
  ASSERT_TRUE(line && at_once);
  EXPECT_EQ(acquire_options_of(line->given).wait, forever);
  EXPECT_EQ(acquire_options_of(at_once->given).wait, 0s);
}

TEST(CommandLine, a_command_that_asks_for_an_option_it_does_not_have_is_noticed) {
  const auto line = parse({"ls", "a/"});
  ASSERT_TRUE(line);
  EXPECT_THROW(line->given.text("--ttl"), std::logic_error);
  EXPECT_THROW(line->given.flag("--nonblock"), std::logic_error);
}

TEST(CommandLine, an_address_in_a_wrong_place_does_not_show_its_password) {
  const std::string address = "postgres://me:canary@host/db";
  for (const Words& words :
       std::vector<Words>{{"--json=" + address},
                          {"--version=\x1b://:canary@\x1b"},
                          {address},
                          {"show", "k", address},
                          {"help", address},
                          {"run", address},
                          {"run", "--ttl", address, "k", "true"},
                          {"run", "-w", address, "k", "true"},
                          {"run", "-n", "-w", address, "k", "true"},
                          {"run", "-E", address, "k", "true"},
                          {"run", "--note", address + "\xff", "k", "true"},
                          {"run", "--owner", address + "\xff", "k", "true"},
                          {"run", "postgres://me:canary\xff@host/db", "true"},
                          {"renew", "k", "--owner", "o", "--ttl", address, "--by", address}}) {
    const auto parsed = parse(words);
    ASSERT_FALSE(parsed) << ::testing::PrintToString(words);
    EXPECT_EQ(parsed.error().detail.find("canary"), std::string::npos) << parsed.error().detail;
    EXPECT_EQ(parsed.error().detail.find('\x1b'), std::string::npos) << parsed.error().detail;
  }
}

}  // namespace
}  // namespace holdfast::cli
