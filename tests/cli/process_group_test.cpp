// SPDX-License-Identifier: Apache-2.0
#include "cli/run/process_group.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/cli/proc.h"
#include "tests/support/await.h"

namespace holdfast::cli {
namespace {

// Does nothing, in a group of its own, until this object goes.
class Idler {
 public:
  Idler() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    move_to(pid_);
  }
  ~Idler() {
    test::send_signal(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Idler(const Idler&) = delete;
  Idler& operator=(const Idler&) = delete;

  pid_t pid() const { return pid_; }
  void move_to(pid_t group) const { EXPECT_EQ(::setpgid(pid_, group), 0); }
  bool is_dead() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }

 private:
  pid_t pid_;
};

TEST(ProcessGroup, that_was_seen_empty_is_not_signalled_any_more_even_if_its_number_is_used_again) {
  const Idler other;
  const Idler leader;
  Group group(leader.pid());
  EXPECT_FALSE(group.is_empty());
  EXPECT_TRUE(group);
  leader.move_to(other.pid());
  EXPECT_TRUE(group.is_empty());
  EXPECT_FALSE(group);
  leader.move_to(leader.pid());  // as a stranger would that has got the number
  EXPECT_TRUE(group.is_empty());
  EXPECT_TRUE(group.is_dead());
  group.signal(SIGKILL);
  EXPECT_EQ(::kill(-leader.pid(), 0), 0);
  Group again(leader.pid());  // an object that does not know would have
  again.signal(SIGKILL);
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(leader.pid()), nullptr, WEXITED | WNOWAIT), 0);
}

TEST(ProcessGroup, that_a_signal_found_empty_is_gone) {
  const Idler other;
  const Idler leader;
  leader.move_to(other.pid());
  Group group(leader.pid());
  group.signal(SIGTERM);
  EXPECT_FALSE(group);
}

TEST(ProcessGroup, that_somebody_else_saw_empty_is_gone) {
  const Idler leader;
  Group group(leader.pid());
  group.mark_gone();
  group.signal(SIGKILL);
  EXPECT_TRUE(group.is_empty());
  EXPECT_FALSE(leader.is_dead());
}

// Its first thread ends, another lives on: the kernel calls it a zombie.
class Headless {
 public:
  Headless() : pid_(::fork()) {
    if (pid_ == 0) {
      std::thread([] {
        for (;;) ::pause();
      }).detach();
      ::syscall(SYS_exit, 0);
    }
    EXPECT_EQ(::setpgid(pid_, pid_), 0);
    EXPECT_TRUE(test::await([this] { return test::status_line(pid_, "State:").starts_with("Z"); }));
  }
  ~Headless() {
    test::send_signal(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Headless(const Headless&) = delete;
  Headless& operator=(const Headless&) = delete;

  pid_t pid() const { return pid_; }
  // And is not collected.
  void end() const {
    test::send_signal(pid_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }

 private:
  pid_t pid_;
};

TEST(ProcessGroup, of_one_whose_first_thread_has_ended_is_not_dead_while_another_lives) {
  const Headless headless;
  Group group(headless.pid());
  EXPECT_TRUE(runs(headless.pid()));
  EXPECT_FALSE(group.is_dead());
  headless.end();
  EXPECT_FALSE(runs(headless.pid()));
  EXPECT_TRUE(group.is_dead());
  EXPECT_FALSE(group.is_empty()) << "nobody has collected it";
}

// ---- without a /proc of our own

enum : int { all_well = 0, not_allowed = 77 };

// What `scene` returns in a process that sees no other in /proc.
template <class RunContext>
int without_proc(RunContext context) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool hidden = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
    ::_exit(hidden ? context() : not_allowed);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ProcessGroup, children_are_found_without_proc) {
  const int code = without_proc([] {
    become_subreaper();
    for (int i = 0; i < 3; ++i) {
      if (::fork() == 0) {
        ::setsid();
        if (::fork() == 0) ::setsid();  // ours when its parent is dead
        for (;;) ::pause();
      }
    }
    const bool ended = test::await([] {
      const bool left = kill_children();
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return !left;
    });
    return ended && !has_children() ? all_well : 1;
  });
  if (code == not_allowed) GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(code, all_well);
}

TEST(ProcessGroup, that_is_not_empty_is_not_known_to_be_dead_without_proc) {
  const int code = without_proc([] {
    const Idler leader;
    Group group(leader.pid());
    if (group.is_dead() || !runs(leader.pid())) return 1;
    ::kill(leader.pid(), SIGKILL);
    if (!test::await([&] { return leader.is_dead(); })) return 2;
    return runs(leader.pid()) || group.is_dead() ? 3 : all_well;
  });
  if (code == not_allowed) GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(code, all_well);
}

TEST(ProcessGroup, none_is_signalled_where_there_is_none) {
  Group none;
  EXPECT_FALSE(none);
  none.signal(SIGKILL);  // would be our own
  EXPECT_EQ(none.number(), 0);
}

TEST(ProcessGroup, has_no_unkillable_process_if_all_are_ours) {
  const Idler leader;
  EXPECT_EQ(Group(leader.pid()).unkillable_process(), 0);
}

}  // namespace
}  // namespace holdfast::cli
