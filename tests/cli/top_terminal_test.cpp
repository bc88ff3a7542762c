// SPDX-License-Identifier: Apache-2.0
// `top` in front of somebody: keys in, screen out.
#include <csignal>
#include <sstream>

#include "tests/cli/glass.h"
#include "tests/cli/home.h"
#include "tests/support/own_servers.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* escape = "\033";
constexpr const char* down = "\033OB";

// The command, and what is seen of it.
class Screened {
 public:
  explicit Screened(const Process::Plan& plan) : process_(plan) {}

  bool await_words(std::string_view words) {
    const bool came = await([&] { return sees(words); }, long_enough);
    EXPECT_TRUE(came) << words << "\n" << glass_.text();
    return came;
  }
  bool await_no(std::string_view words) {
    const bool gone = await([&] { return !sees(words); }, long_enough);
    EXPECT_TRUE(gone) << words << "\n" << glass_.text();
    return gone;
  }
  bool sees(std::string_view words) {
    glass_.show(process_.out());
    return glass_.has(words);
  }
  void type(std::string_view keys) { process_.type(keys); }
  Process& process() { return process_; }

 private:
  Process process_;
  Glass glass_{24, 120};
};

Process::Plan on_terminal(Process::Plan plan) {
  plan.on_terminal = true;
  plan.environment.emplace("TERM", "vt100");
  return plan;
}

class TopTerminal : public Home {
 protected:
  Screened top(const Words& more = {}) const {
    Words words{"top", "--interval", "100ms"};
    words.insert(words.end(), more.begin(), more.end());
    return Screened(on_terminal(holdfast_plan(words)));
  }
};

TEST_F(TopTerminal, shows_who_holds_what_and_goes_with_the_time) {
  const Process owner = hold("nightly", {"--ttl", "1h", "--note", "full backup"});
  Screened screen = top();
  screen.await_words("1 held, 0 waiting");
  screen.await_words(" pid " + std::to_string(owner.pid()));
  screen.await_words("full backup");
  holdfast({"acquire", "deploy", "--owner", "olga", "--ttl", "1h"});
  screen.await_words("olga (detached)");
  holdfast({"release", "deploy", "--owner", "olga"});
  screen.await_no("olga");
  screen.type("q");
  EXPECT_EQ(screen.process().wait(), 0);
  EXPECT_TRUE(screen.process().terminal_is_as_ever());
}

TEST_F(TopTerminal, inspects_what_was_chosen_and_comes_back) {
  holdfast({"acquire", "a", "--owner", "ann", "--ttl", "1h"});
  holdfast({"acquire", "b", "--owner", "ben", "--ttl", "1h"});
  Process waiter = start({"run", "b", "true"});
  Screened screen = top();
  screen.await_words("ben");
  screen.type(down);
  screen.type("\r");
  screen.await_words("held by    ben");
  screen.await_words("waiting 1");
  screen.await_words(" pid " + std::to_string(waiter.pid()));
  waiter.signal(SIGTERM);
  screen.await_no("waiting 1");
  screen.type(escape);
  screen.await_words("KEY ");
  screen.type("/an");
  screen.await_no("ben");
  screen.type(escape);
  screen.await_words("ben");
}

TEST_F(TopTerminal, breaks_a_lease_with_a_reason_and_a_confirmation) {
  Process owner = hold("nightly", {"--ttl", "3s"});
  Screened screen = top();
  screen.await_words("nightly");
  screen.type("b");
  screen.await_words("Break the lease on nightly?");
  screen.type("stuck\r");
  screen.await_words("type yes to break it:");
  screen.type("no\r");
  screen.await_words("nightly was not broken");
  screen.type("bstuck\r");
  screen.await_words("type yes to break it:");
  screen.type("yes\r");
  screen.await_words("broke the lease on nightly, which ");
  EXPECT_EQ(owner.wait(), 76);
  EXPECT_THAT(owner.err(), HasSubstr(": stuck; the command was stopped"));
}

TEST_F(TopTerminal, survives_every_size_of_the_terminal) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  Screened screen = top();
  screen.await_words("ann");
  for (const char* keys : {"", "?", "q\r", "\033b", "why\r"}) {
    screen.type(keys);
    for (const auto& [rows, columns] : {std::pair{5, 20}, {1, 1}, {2, 3}, {1, 200}, {200, 2}, {24, 120}}) {
      const std::size_t before = screen.process().out().size();
      screen.process().resize(rows, columns);
      EXPECT_TRUE(await([&] { return screen.process().out().size() > before; }));
      EXPECT_FALSE(screen.process().has_ended()) << rows << " x " << columns;
    }
  }
  screen.await_words("type yes to break it:");
}

TEST_F(TopTerminal, follows_the_size_of_the_terminal) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  Screened screen = top();
  screen.await_words("ann");
  screen.process().resize(5, 20);
  screen.await_words("Enter inspect  b br~");
}

TEST_F(TopTerminal, a_signal_ends_it_and_leaves_the_terminal_as_it_was) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Screened screen = top();
    screen.await_words("ann");
    EXPECT_FALSE(screen.process().terminal_is_as_ever());
    screen.process().signal(signal);
    EXPECT_EQ(screen.process().wait(), 128 + signal);
    EXPECT_TRUE(screen.process().terminal_is_as_ever());
  }
}

TEST_F(TopTerminal, ctrl_z_gives_the_terminal_back_and_fg_takes_it_again) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  Screened screen(on_terminal(plan({"bash", "--norc", "--noprofile", "-i"})));
  screen.type("PS1='ready> '; " + std::string(HOLDFAST_BINARY) + " top\n");
  screen.await_words("1 held");
  // ncurses must have no hand in it: a Ctrl-Z that came while it paints would be lost.
  std::istringstream caught(proc_file(children_of(screen.process().pid()).front(), "status"));
  std::string word;
  while (caught >> word && word != "SigCgt:") {
  }
  caught >> word;
  EXPECT_EQ(std::stoull(word, nullptr, 16) >> (SIGTSTP - 1) & 1, 0U) << word;
  screen.type("\x1a");
  EXPECT_TRUE(screen.process().await_out("Stopped"));
  screen.type("echo still''here\n");
  EXPECT_TRUE(screen.process().await_out("stillhere"));
  const std::size_t before = screen.process().out().size();
  screen.type("fg\n");
  EXPECT_TRUE(await([&] { return screen.process().out().find("1 held", before) != std::string::npos; }));
  screen.type("q");
  screen.type("echo co''de $?.\n");
  EXPECT_TRUE(screen.process().await_out("code 0."));
}

TEST_F(TopTerminal, in_the_background_it_leaves_the_terminal_alone_until_fg) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  Process bash(on_terminal(plan({"bash", "--norc", "--noprofile", "-i"})));
  std::size_t seen = 0;
  const auto comes = [&](const char* words) {
    const auto found = [&] { return bash.out().find(words, seen) != std::string::npos; };
    EXPECT_TRUE(await(found, long_enough)) << words << bash.out();
    const bool painted = bash.out().find("1 held", seen) != std::string::npos;
    seen = bash.out().size();
    return painted;
  };
  // The shell hears of it a little later.
  const std::string until_stopped = "until [ \"$(jobs -s)\" ]; do :; done; echo no''ticed\n";
  bash.type("PS1='ready> '; " + std::string(HOLDFAST_BINARY) + " top --interval 100ms & " + until_stopped);
  EXPECT_FALSE(comes("noticed"));
  for (const bool typed : {true, false}) {
    bash.type("fg\n");
    comes("1 held");
    if (typed) {
      bash.type("\x1a");
    } else {
      const std::vector<pid_t> children = children_of(bash.pid());
      ASSERT_FALSE(children.empty());
      ASSERT_TRUE(send_signal(children.front(), SIGSTOP));
    }
    comes("Stopped");
    bash.type("bg; " + until_stopped);
    EXPECT_FALSE(comes("noticed")) << typed;
  }
  bash.type("fg\n");
  comes("1 held");
  bash.type("q");
  bash.type("echo co''de $?.\n");
  comes("code 0.");
}

TEST_F(TopTerminal, in_a_background_that_nobody_can_bring_forward_it_ends) {
  Process bash(on_terminal(plan({"bash", "--norc", "--noprofile", "-i"})));
  bash.type("(sh -c '" + std::string(HOLDFAST_BINARY) + " top < /dev/tty; echo co\"\"de $?.' &)\n");
  EXPECT_TRUE(bash.await_out("code 64.")) << bash.out();
  EXPECT_THAT(bash.out(), HasSubstr("top needs the terminal"));
}

TEST_F(TopTerminal, a_confirmed_break_is_done_and_reported_although_the_user_quits) {
  Process owner = hold("nightly", {"--ttl", "3s"});
  Screened screen = top();
  screen.await_words("nightly");
  screen.type("bstuck\r");
  screen.await_words("type yes to break it:");
  screen.type("yes\rq");
  EXPECT_EQ(screen.process().wait(), 0);
  EXPECT_THAT(screen.process().out(), HasSubstr("holdfast: broke the lease on nightly, which "));
  EXPECT_TRUE(screen.process().terminal_is_as_ever());
  EXPECT_EQ(owner.wait(), 76);
}

TEST_F(TopTerminal, a_failed_break_is_reported_although_the_user_quits) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  Screened screen = top();
  screen.await_words("ann");
  screen.type("bstuck\r");
  screen.await_words("type yes to break it:");
  holdfast({"release", "k", "--owner", "ann"});
  screen.type("yes\rq");
  EXPECT_EQ(screen.process().wait(), 76);
  EXPECT_THAT(screen.process().out(), HasSubstr("holdfast: "));
}

TEST_F(TopTerminal, has_colours_unless_somebody_wants_none) {
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  const Process owner = hold("held", {"--ttl", "1h"});
  environment_["TERM"] = "xterm-256color";
  for (const bool colour : {true, false}) {
    if (!colour) environment_["NO_COLOR"] = "1";
    Process process(on_terminal(holdfast_plan({"top"})));
    ASSERT_TRUE(process.await_out("q quit")) << process.out();
    EXPECT_EQ(process.out().find("\033[32m") != std::string::npos, colour);
  }
}

TEST_F(TopTerminal, without_a_terminal_it_can_draw_on_is_64_and_one_sentence) {
  const Ended piped = holdfast({"top"});
  EXPECT_EQ(piped.code, 64);
  EXPECT_THAT(piped.err, HasSubstr("top needs a terminal"));
  for (const char* name : {"", "no-such-terminal", "dumb"}) {
    environment_["TERM"] = name;
    Process process(on_terminal(holdfast_plan({"top"})));
    EXPECT_EQ(process.wait(), 64) << name;
    EXPECT_THAT(process.out(),
                HasSubstr("holdfast: top cannot draw on a terminal with TERM=" + std::string(name)));
  }
  EXPECT_TRUE(is_empty());
}

class TopServers : public ::testing::TestWithParam<ServerKind>, protected Household {
 protected:
  TopServers() { environment_["HOLDFAST_STORE"] = server_->url(); }
  const std::unique_ptr<OwnServer> server_ = GetParam().make();
};

TEST_P(TopServers, that_go_away_leave_their_last_rows_and_a_line_until_they_are_back) {
  server_->make_tables();
  holdfast({"acquire", "before", "--owner", "me", "--ttl", "1h"});
  Screened screen(on_terminal(holdfast_plan({"top", "--interval", "100ms"})));
  screen.await_words("before");
  server_->kill();
  screen.await_no("q quit");
  EXPECT_TRUE(screen.sees("before"));
  EXPECT_FALSE(screen.sees(OwnServer::password));
  server_->start();
  screen.await_words("q quit");
  screen.type("\r");
  screen.await_words("held by");
}

TEST_P(TopServers, that_do_not_answer_a_break_leave_nobody_in_the_dark) {
  server_->make_tables();
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  Screened screen(on_terminal(holdfast_plan({"top", "--interval", "100ms"})));
  screen.await_words("me");
  screen.type("bstuck\r");
  screen.await_words("type yes to break it:");
  server_->kill();
  screen.type("yes\rq");
  EXPECT_EQ(screen.process().wait(), 69);
  EXPECT_THAT(screen.process().out(), HasSubstr("holdfast: "));
}

HOLDFAST_ON_EVERY_SERVER(TopServers);

}  // namespace
}  // namespace holdfast::test
