// SPDX-License-Identifier: Apache-2.0
// `run` as a job of an interactive shell: the keyboard, Ctrl-C, Ctrl-Z, fg and bg.
#include <csignal>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

class Terminal : public Home {
 protected:
  static constexpr const char* ctrl_c = "\x03";
  static constexpr const char* ctrl_z = "\x1a";

  Process shell() const {
    Process::Plan bash = plan({"bash", "--norc", "--noprofile", "-i"});
    bash.on_terminal = true;
    Process process(bash);
    process.type("PS1='ready> '; stty -echo; echo on''line\n");
    EXPECT_TRUE(process.await_out("online"));
    return process;
  }
  // `first` is done when this returns.  "started" is split, so that an echo of what is typed is no answer.
  void run_in(Process& shell, const std::string& options, const std::string& script,
              const std::string& first = ":") const {
    shell.type(std::string(HOLDFAST_BINARY) + " run k " + options + " -- sh -c '" + first +
               "; echo sta\"\"rted; " + script + "'\n");
    ASSERT_TRUE(shell.await_out("started")) << shell.out();
  }
  pid_t main_of(Process& shell) const {
    for (const pid_t child : children_of(shell.pid())) {
      if (proc_file(child, "comm") == "holdfast\n") return child;
    }
    return 0;
  }
  // The same, one shell further down.
  pid_t main_in_script(Process& shell) const {
    for (const pid_t script : children_of(shell.pid())) {
      for (const pid_t child : children_of(script)) {
        if (guard_of(child) != 0) return child;
      }
    }
    return 0;
  }
  // A line for the shell, with the command in place of the word holdfast.
  static void say_to(Process& shell, std::string line) {
    const std::string word = "holdfast ";
    for (std::size_t at = 0; (at = line.find(word, at)) != std::string::npos; at += sizeof HOLDFAST_BINARY)
      line.replace(at, word.size(), HOLDFAST_BINARY " ");
    shell.type(line + "\n");
  }
  // Ctrl-Z, and both are stopped; but not in the middle of a write, as stop() of home.h has it.
  void stop_in(Process& shell) const {
    const pid_t command = command_of(main_of(shell));
    EXPECT_TRUE(await([&] {
      const std::size_t seen = shell.out().size();
      shell.type(ctrl_z);
      EXPECT_TRUE(await([&] { return shell.out().find("Stopped", seen) != std::string::npos; }))
          << shell.out();
      if (is_writable()) return true;
      shell.type("fg\n");
      EXPECT_TRUE(await([&] { return !is_stopped(command); }));
      return false;
    }));
  }
  // Which process CMD is, by its own word.
  pid_t noted_pid() const {
    EXPECT_TRUE(await([&] { return text_of("pid").ends_with('\n'); }, long_enough));
    return std::stoi("0" + text_of("pid"));
  }
  void expect_code(Process& shell, int code) const {
    shell.type("echo co''de $?.\n");
    EXPECT_TRUE(shell.await_out("code " + std::to_string(code) + ".")) << shell.out();
  }
};

TEST_F(Terminal, the_command_has_the_keyboard) {
  Process bash = shell();
  run_in(bash, "", "read line; echo \"<$line>\"");
  bash.type("typed by hand\n");
  EXPECT_TRUE(bash.await_out("<typed by hand>")) << bash.out();
  expect_code(bash, 0);
}

TEST_F(Terminal, ctrl_c_ends_the_command) {
  Process bash = shell();
  run_in(bash, "", "exec sleep 1000");
  bash.type(ctrl_c);
  expect_code(bash, 128 + SIGINT);
  EXPECT_TRUE(is_free("k"));
}

TEST_F(Terminal, ctrl_c_while_waiting_ends_the_wait) {
  const Process owner = hold("k");
  Process bash = shell();
  bash.type(std::string(HOLDFAST_BINARY) + " run k touch ran\n");
  EXPECT_TRUE(bash.await_out("for k, held by "));
  bash.type(ctrl_c);
  expect_code(bash, 128 + SIGINT);
  EXPECT_FALSE(exists("ran"));
}

TEST_F(Terminal, ctrl_z_stops_both_and_fg_continues_them_with_the_keyboard) {
  Process bash = shell();
  run_in(bash, "", "read line; echo \"<$line>\"");
  const pid_t main = main_of(bash);
  const pid_t command = command_of(main);
  bash.type(ctrl_z);
  EXPECT_TRUE(bash.await_out("Stopped")) << bash.out();
  EXPECT_TRUE(is_stopped(main));
  EXPECT_TRUE(is_stopped(command));
  bash.type("echo still''here\n");  // the shell has the keyboard
  EXPECT_TRUE(bash.await_out("stillhere")) << bash.out();
  bash.type("fg\n");
  EXPECT_TRUE(await([&] { return !is_stopped(command); }));
  bash.type("again\n");
  EXPECT_TRUE(bash.await_out("<again>")) << bash.out();
  expect_code(bash, 0);
}

TEST_F(Terminal, stopped_for_longer_than_the_lease_it_is_killed_and_fg_reports_it) {
  Process bash = shell();
  run_in(bash, "--ttl 3s", "read line");
  const pid_t command = command_of(main_of(bash));
  stop_in(bash);
  EXPECT_TRUE(await([&] { return !runs(command); }));
  EXPECT_TRUE(await([&] { return is_free("k"); }));
  bash.type("fg\n");
  EXPECT_TRUE(bash.await_out("the lease on k was lost: ")) << bash.out();
  expect_code(bash, 76);
}

TEST_F(Terminal, fg_does_not_move_a_command_whose_lease_somebody_else_has) {
  Process bash = shell();
  // It moves all the time, and forks nobody: a shell in vfork() whose child is stopped cannot be.  When it is
  // continued, it would also print it.
  run_in(bash, "--ttl 1h --owner me", "while :; do echo >> moves; read now < /proc/uptime; done",
         "trap \"\" TERM; trap \"echo conti\"\"nued\" CONT");
  const pid_t command = command_of(main_of(bash));
  bash.type(ctrl_z);
  EXPECT_TRUE(bash.await_out("Stopped")) << bash.out();
  EXPECT_EQ(holdfast({"release", "k", "--owner", "me"}).code, 0);
  const Process other = hold("k");
  const std::string moves = text_of("moves");
  EXPECT_TRUE(is_stopped(command));
  bash.type("fg\n");
  EXPECT_TRUE(bash.await_out("the lease on k was lost: ")) << bash.out();
  expect_code(bash, 76);
  EXPECT_FALSE(runs(command));
  EXPECT_EQ(text_of("moves"), moves);
  EXPECT_EQ(bash.out().find("continued"), std::string::npos);
}

TEST_F(Terminal, stopped_until_somebody_else_has_the_lease_it_is_dead_before_and_fg_reports_it) {
  Process bash = shell();
  run_in(bash, "--ttl 3s", "while :; do echo >> moves; read now < /proc/uptime; done",
         "trap \"\" TERM; trap \"echo conti\"\"nued\" CONT");
  const pid_t command = command_of(main_of(bash));
  stop_in(bash);
  const std::size_t seen = bash.out().size();
  const std::string moves = text_of("moves");
  const Process other = hold("k");
  EXPECT_FALSE(runs(command));
  bash.type("fg\n");
  EXPECT_TRUE(bash.await_out("the lease on k was lost: ")) << bash.out();
  expect_code(bash, 76);
  EXPECT_EQ(text_of("moves"), moves);
  EXPECT_EQ(bash.out().find("continued", seen), std::string::npos);
}

TEST_F(Terminal, fg_moves_a_command_whose_loss_is_to_be_ignored) {
  Process bash = shell();
  run_in(bash, "--ttl 2s --on-lost ignore", "read line; echo \"<$line>\"");
  stop_in(bash);
  const Process other = hold("k");
  bash.type("fg\n");
  EXPECT_TRUE(await([&] { return !is_stopped(command_of(main_of(bash))); }));
  bash.type("typed\n");
  EXPECT_TRUE(bash.await_out("<typed>")) << bash.out();
  expect_code(bash, 76);
}

TEST_F(Terminal, bg_continues_without_the_keyboard_and_reading_stops_it_again) {
  Process bash = shell();
  run_in(bash, "", "until read line; do :; done; echo \"<$line>\"", "trap \"echo conti\"\"nued\" CONT");
  const pid_t main = main_of(bash);
  bash.type(ctrl_z);
  EXPECT_TRUE(bash.await_out("Stopped")) << bash.out();
  bash.type("bg\n");
  EXPECT_TRUE(bash.await_out("continued")) << bash.out();
  EXPECT_TRUE(await([&] { return is_stopped(main); }));  // it wants to read
  bash.type(
      "until [ \"$(jobs -s)\" ]; do :; done; echo no''ticed; fg\n");  // the shell hears of it a little later
  EXPECT_TRUE(bash.await_out("noticed")) << bash.out();
  EXPECT_TRUE(await([&] { return !is_stopped(main); }));
  bash.type("now\n");
  EXPECT_TRUE(bash.await_out("<now>")) << bash.out();
}

TEST_F(Terminal, in_a_script_ctrl_z_stops_the_script_too) {
  Process bash = shell();
  std::ofstream(path("script")) << HOLDFAST_BINARY
                                << " run k sh -c 'echo sta\"\"rted; exec sleep 1000'; echo after $?.\n";
  bash.type("sh ./script\n");
  EXPECT_TRUE(bash.await_out("started")) << bash.out();
  const pid_t main = main_in_script(bash);
  const pid_t command = command_of(main);
  bash.type(ctrl_z);
  EXPECT_TRUE(bash.await_out("Stopped")) << bash.out();
  bash.type("fg\n");
  EXPECT_TRUE(await([&] { return !is_stopped(command); }));
  bash.type(ctrl_c);
  expect_code(bash, 128 + SIGINT);
}

TEST_F(Terminal, ctrl_c_ends_a_script_and_a_loop_as_well) {
  const std::string run = " run k sh -c 'echo sta\"\"rted; exec sleep 1000'; echo af\"\"ter $?.\n";
  std::ofstream(path("script")) << HOLDFAST_BINARY << run;
  for (const char* line : {"sh ./script", "bash ./script", "for i in 1 2; do . ./script; done",
                           "for i in 1 2; do ${BASH:-} ./script; done"}) {
    Process bash = shell();
    say_to(bash, line);
    EXPECT_TRUE(bash.await_out("started")) << bash.out();
    bash.type(ctrl_c);
    expect_code(bash, 128 + SIGINT);
    EXPECT_EQ(bash.out().find("after"), std::string::npos) << line << bash.out();
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(Terminal, ctrl_backslash_ends_a_script_as_well) {
  Process bash = shell();
  std::ofstream(path("script")) << HOLDFAST_BINARY << " run k sh -c 'echo sta\"\"rted; exec sleep 1000'\n"
                                << "echo af\"\"ter $?.\n";
  bash.type("ulimit -c 0; sh ./script\n");
  EXPECT_TRUE(bash.await_out("started")) << bash.out();
  bash.type("\x1c");
  expect_code(bash, 128 + SIGQUIT);
  EXPECT_EQ(bash.out().find("after"), std::string::npos) << bash.out();
}

TEST_F(Terminal, ctrl_c_while_waiting_ends_a_loop_as_well) {
  const Process owner = hold("k");
  Process bash = shell();
  say_to(bash, "for i in 1 2; do holdfast run k true; done");
  EXPECT_TRUE(bash.await_out("for k, held by "));
  bash.type(ctrl_c);
  expect_code(bash, 128 + SIGINT);
}

TEST_F(Terminal, ctrl_c_ends_a_key_that_is_kept_for_its_time_too) {
  Process bash = shell();
  run_in(bash, "--at-least 1h", "exec sleep 1000");
  bash.type(ctrl_c);
  expect_code(bash, 128 + SIGINT);
  EXPECT_TRUE(is_free("k"));
}

// A signal that is sent to us is not for the script.
TEST_F(Terminal, a_signal_that_nobody_typed_does_not_end_the_script) {
  Process bash = shell();
  std::ofstream(path("script")) << HOLDFAST_BINARY << " run k sh -c 'echo sta\"\"rted; exec sleep 1000'\n"
                                << "echo af\"\"ter $?.\n";
  bash.type("sh ./script\n");
  EXPECT_TRUE(bash.await_out("started")) << bash.out();
  ASSERT_TRUE(send_signal(main_in_script(bash), SIGINT));
  EXPECT_TRUE(bash.await_out("after 130.")) << bash.out();
}

TEST_F(Terminal, a_command_that_survives_ctrl_c_ends_as_it_likes_and_the_script_goes_on) {
  Process bash = shell();
  std::ofstream(path("script")) << HOLDFAST_BINARY
                                << " run k sh -c 'trap \"exit 3\" INT; echo sta\"\"rted; read line'\n"
                                << "echo af\"\"ter $?.\n";
  bash.type("sh ./script\n");
  EXPECT_TRUE(bash.await_out("started")) << bash.out();
  bash.type(ctrl_c);
  EXPECT_TRUE(bash.await_out("after 3.")) << bash.out();
}

TEST_F(Terminal, in_a_pipeline_the_keyboard_is_for_who_reads_it) {
  Process bash = shell();
  // As less and fzf do.
  say_to(bash,
         "holdfast run k yes | sh -c 'head -n 1 > first; echo rea\"\"dy; read line < /dev/tty; echo "
         "\"<$line>\"'");
  EXPECT_TRUE(bash.await_out("ready")) << bash.out();
  bash.type("typed\n");
  EXPECT_TRUE(bash.await_out("<typed>")) << bash.out();
  expect_code(bash, 0);
  EXPECT_TRUE(is_free("k"));
}

TEST_F(Terminal, in_a_pipeline_a_command_that_asks_for_the_keyboard_gets_it) {
  for (const char* line : {"holdfast run k sh ./asks | cat", ": | holdfast run k sh ./asks",
                           "said=$(holdfast run k sh ./asks 2>&1); echo $said"}) {
    Process bash = shell();
    std::ofstream(path("asks")) << "echo sta\"\"rted > /dev/tty\n"
                                << "read line < /dev/tty; echo \"<$line>\"\n";
    say_to(bash, line);
    EXPECT_TRUE(bash.await_out("started")) << bash.out();
    bash.type("typed\n");
    EXPECT_TRUE(bash.await_out("<typed>")) << line << bash.out();
    expect_code(bash, 0);
  }
}

TEST_F(Terminal, in_a_pipeline_ctrl_z_and_fg_and_ctrl_c_reach_all_of_it) {
  Process bash = shell();
  say_to(bash, "for i in 1 2; do holdfast run k sh -c 'echo $$ > pid; exec sleep 1000' | cat; done");
  const pid_t command = noted_pid();
  bash.type(ctrl_z);
  EXPECT_TRUE(bash.await_out("Stopped")) << bash.out();
  EXPECT_TRUE(await([&] { return is_stopped(command); }));
  bash.type("fg\n");
  EXPECT_TRUE(await([&] { return !is_stopped(command); }));
  bash.type(ctrl_c);
  bash.type("echo piped ${PIPESTATUS[0]}.\n");
  EXPECT_TRUE(bash.await_out("piped 130.")) << bash.out();
  EXPECT_FALSE(runs(command));
}

// Nobody can bring it to the foreground: its shell has forgotten it.
TEST_F(Terminal, a_forgotten_command_that_asks_for_the_keyboard_is_hung_up_on) {
  Process bash = shell();
  say_to(bash, "(holdfast run k sh -c 'echo $$ > pid; read line < /dev/tty' &)");
  const pid_t command = noted_pid();
  EXPECT_TRUE(await([&] { return !runs(command); }, long_enough));
  EXPECT_TRUE(bash.await_out("needs the terminal")) << bash.out();
  EXPECT_TRUE(await([&] { return is_free("k"); }, long_enough));
}

TEST_F(Terminal, a_forgotten_command_that_survives_that_stays_stopped) {
  Process bash = shell();
  say_to(bash,
         "(trap '' HUP; holdfast run k sh -c 'echo $$ > pid; until read line < /dev/tty; do :; done' &)");
  const pid_t command = noted_pid();
  EXPECT_TRUE(bash.await_out("stays stopped")) << bash.out();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_stopped(command));
  EXPECT_FALSE(is_free("k"));
}

TEST_F(Terminal, the_keyboard_comes_back_whoever_is_killed) {
  std::ofstream(path("script")) << HOLDFAST_BINARY
                                << " run k sh -c 'echo sta\"\"rted; exec sleep 1000'\n"
                                // Main's death is known here before the guard can have done anything.
                                << "while [ $(ps -o tpgid= -p $$) -ne $(ps -o pgid= -p $$) ]; do :; done\n"
                                << "read line; echo \"<$line>\"\n";
  for (const bool guard : {false, true}) {
    Process bash = shell();
    bash.type("sh ./script\n");
    EXPECT_TRUE(bash.await_out("started")) << bash.out();
    const pid_t main = main_in_script(bash);
    ASSERT_TRUE(send_signal(guard ? guard_of(main) : main, SIGKILL));
    bash.type("typed\n");
    EXPECT_TRUE(bash.await_out("<typed>")) << bash.out();
  }
}

}  // namespace
}  // namespace holdfast::test
