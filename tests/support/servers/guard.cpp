// SPDX-License-Identifier: Apache-2.0
// The process between a test and a server: server_guard END_SIGNAL USER LOG FOLDER PROGRAM [ARGUMENT...]
//
// Runs PROGRAM as USER (- is ourselves), its output appended to LOG, and writes its pid to stdout.  Exits
// when PROGRAM and all that came of it are gone, with its exit code, or 128 + N if it died of signal N.
// When stdin ends, the test is gone: PROGRAM is sent END_SIGNAL, and FOLDER removed (- is none).
//
// PR_SET_PDEATHSIG alone would not do: it fires when the *thread* that started the server ends, it leaves
// the folder, and a killed PostgreSQL leaves backends behind that only a subreaper can wait for.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr int patience_ms = 10'000;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  _exit(127);
}

void become(const char* user) {
  if (std::string(user) == "-") return;
  const passwd* entry = getpwnam(user);
  if (entry == nullptr || initgroups(user, entry->pw_gid) != 0 || setgid(entry->pw_gid) != 0 ||
      setuid(entry->pw_uid) != 0)
    fail("cannot become another user");
  setenv("HOME", "/nonexistent", 1);
}

[[noreturn]] void run(int guard, char** argv) {
  const int log = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0) fail(argv[3]);
  dup2(nothing, 0);
  dup2(log, 1);
  dup2(log, 2);
  become(argv[2]);
  // After setuid(), which clears it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir("/") != 0) fail("/");
  execvp(argv[5], argv + 5);
  fail(argv[5]);
}

void kill_children() {
  const std::string self = std::to_string(getpid());
  std::ifstream children("/proc/" + self + "/task/" + self + "/children");
  for (int pid = 0; children >> pid;) kill(pid, SIGKILL);
}

// True as soon as there is no child left.
bool all_gone(int limit_ms) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (int waited_ms = 0;; waited_ms += 10) {
    int pid = 0;
    do pid = waitpid(-1, nullptr, WNOHANG);
    while (pid > 0);
    if (pid < 0) return true;
    if (waited_ms >= limit_ms) return false;
    const timespec moment{0, 10'000'000};
    sigtimedwait(&child, nullptr, &moment);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) fail("usage: server_guard END_SIGNAL USER LOG FOLDER PROGRAM [ARGUMENT...]");
  setsid();  // Ctrl-C is for the test: it ends its servers in its own order
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);

  const int guard = getpid();
  const int server = fork();
  if (server < 0) fail("fork");
  if (server == 0) run(guard, argv);
  const int life = static_cast<int>(syscall(SYS_pidfd_open, server, 0));
  if (life < 0) fail("pidfd_open");
  std::printf("%d\n", server);
  std::fflush(stdout);
  close(1);

  pollfd ends[] = {{0, POLLIN, 0}, {life, POLLIN, 0}};
  while (poll(ends, 2, -1) < 0) {
  }
  const bool orphaned = ends[0].revents != 0;
  if (orphaned) {
    kill(server, std::atoi(argv[1]));
    kill(server, SIGCONT);
    if (poll(ends + 1, 1, patience_ms) == 0) kill(server, SIGKILL);
    poll(ends + 1, 1, -1);
  }
  int status = 0;
  waitpid(server, &status, 0);
  while (!all_gone(patience_ms)) kill_children();
  if (orphaned && std::string(argv[4]) != "-") {
    std::error_code ignored;
    std::filesystem::remove_all(argv[4], ignored);
  }
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}
