// SPDX-License-Identifier: Apache-2.0
// The units and the crontab in examples/, run as systemd and cron would run them.
#include <csignal>
#include <regex>
#include <sstream>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Examples : public Home {
 protected:
  Examples() {
    std::filesystem::create_directories(path("bin"));
    std::filesystem::create_symlink(HOLDFAST_BINARY, path("bin/holdfast"));
    std::filesystem::create_directory(path("etc"));
    std::ofstream(path("etc/store")) << "sqlite:" << path("shared.db") << "\n";
    environment_ = {{"HOME", path("")}, {"SHELL", "/bin/sh"}, {"LOGNAME", "me"}, {"PATH", "/usr/bin:/bin"}};
  }
  // The file, as if it had been written for this home.
  std::string example(const std::string& name) const {
    std::ifstream stream(std::string(HOLDFAST_EXAMPLES) + "/" + name);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_NE(text, "") << name;
    text = std::regex_replace(text, std::regex("/usr/local/bin"), path("bin"));
    return std::regex_replace(text, std::regex("/etc/holdfast"), path("etc"));
  }
  void write_program(const std::string& name, const std::string& script) const {
    std::ofstream(path("bin/" + name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }
  static Words lines_of(const std::string& text) {
    Words lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (!line.empty() && line.front() != '#') lines.push_back(line);
    }
    return lines;
  }
};

// ---- systemd

class Unit : public Examples {
 protected:
  Unit() {
    for (const std::string& line : lines_of(example("systemd/nightly.service"))) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos) continue;
      const std::string value = line.substr(equals + 1);
      settings_[line.substr(0, equals)] = value;
      if (line.starts_with("Environment="))
        environment_[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    }
  }
  Process start_unit() {
    std::istringstream words(settings_.at("ExecStart"));
    return Process(plan({std::istream_iterator<std::string>(words), {}}));
  }
  std::map<std::string, std::string> settings_;
};

TEST_F(Unit, runs_the_job_once_a_day_and_the_second_host_succeeds_too) {
  write_program("backup", "echo saved \"$@\" under $HOLDFAST_KEY");
  Process first = start_unit();
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(first.out(), "saved --full under nightly\n");
  Process second = start_unit();
  EXPECT_EQ(std::to_string(second.wait()), settings_.at("SuccessExitStatus")) << second.err();
  EXPECT_EQ(second.out(), "");
  EXPECT_TRUE(exists("shared.db")) << "all hosts together use the store that they are told of";
}

// With KillMode=mixed TERM goes to the main process alone.
TEST_F(Unit, is_stopped_by_a_signal_to_the_main_process) {
  EXPECT_EQ(settings_.at("KillMode"), "mixed");
  write_program("backup", "trap 'echo tidied; exit 0' TERM; echo begun; while :; do sleep 0.1; done");
  Process unit = start_unit();
  ASSERT_TRUE(unit.await_out("begun")) << unit.err();
  unit.signal(SIGTERM);
  EXPECT_EQ(unit.wait(), 0) << unit.err();
  EXPECT_THAT(unit.out(), HasSubstr("tidied\n"));
  environment_["HOLDFAST_STORE"] = settings_.at("Environment").substr(std::string("HOLDFAST_STORE=").size());
  EXPECT_TRUE(is_free("nightly"));
}

TEST_F(Unit, is_one_that_systemd_reads) {
  if (!std::filesystem::exists("/usr/bin/systemd-analyze")) GTEST_SKIP() << "there is no systemd here";
  write_program("backup", "true");
  for (const char* const name : {"nightly.service", "nightly.timer"})
    std::ofstream(path(name)) << example(std::string("systemd/") + name);
  Process verify(
      plan({"systemd-analyze", "verify", "--man=no", path("nightly.service"), path("nightly.timer")}));
  EXPECT_EQ(verify.wait(), 0);
  EXPECT_THAT(verify.err(), ::testing::Not(HasSubstr("nightly."))) << verify.err();
}

// ---- cron

class Crontab : public Examples {
 protected:
  Crontab() {
    const std::regex setting("([A-Z_]+)=(.*)"), entry("((?:\\S+\\s+){5})(.*)");
    for (const std::string& line : lines_of(example("cron/nightly.cron"))) {
      std::smatch match;
      if (std::regex_match(line, match, setting))
        environment_[match[1]] = match[2];
      else if (std::regex_match(line, match, entry))
        commands_.push_back(std::regex_replace(match[2].str(), std::regex("\\\\%"), "%"));
      else
        ADD_FAILURE() << "no line of a crontab: " << line;
      EXPECT_FALSE(std::regex_search(line, std::regex("[^\\\\]%"))) << "cron takes % for the end: " << line;
    }
  }
  // As cron runs it: by sh, with hardly an environment, without a terminal.
  Process start_entry(std::size_t number) { return Process(plan({"/bin/sh", "-c", commands_.at(number)})); }
  Words commands_;
};

TEST_F(Crontab, every_line_runs_its_job_and_prints_nothing_when_it_is_skipped) {
  for (const char* const program : {"import", "backup", "report"})
    write_program(program, "echo $HOLDFAST_KEY \"$@\"");
  ASSERT_EQ(commands_.size(), 3U);
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    Process first = start_entry(i);
    EXPECT_EQ(first.wait(), 0) << commands_[i] << first.err();
    EXPECT_THAT(first.out(), ::testing::MatchesRegex("(import|nightly --full|report [0-9-]+)\n"));
    EXPECT_EQ(first.err(), "");
  }
  for (const std::size_t daily : {1U, 2U}) {
    Process again = start_entry(daily);
    EXPECT_EQ(again.wait(), 0) << again.err();
    EXPECT_EQ(again.out() + again.err(), "") << "cron would mail it";
  }
  EXPECT_TRUE(exists("shared.db")) << "all hosts together use the store that they are told of";
}

TEST_F(Crontab, a_run_that_meets_the_last_one_is_left_out) {
  write_program("import", "echo begun; read line");
  Process::Plan slow = plan({"/bin/sh", "-c", commands_.at(0)});
  slow.keep_input = true;
  Process first(slow);
  ASSERT_TRUE(first.await_out("begun")) << first.err();
  Process second = start_entry(0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(second.out() + second.err(), "");
  first.type("go on\n");
  EXPECT_EQ(first.wait(), 0);
}

}  // namespace
}  // namespace holdfast::test
