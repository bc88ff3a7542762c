// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/process.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "tests/cli/proc.h"
#include "tests/support/await.h"

namespace holdfast::test {
namespace {

struct Ends {
  Fd ours;
  Fd theirs;
};

Ends pipe_to_them() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {Fd(fds[1]), Fd(fds[0])};
}

Ends pipe_from_them() {
  Ends ends = pipe_to_them();
  std::swap(ends.ours, ends.theirs);
  ::fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

Ends terminal() {
  int ours = -1;
  int theirs = -1;
  const winsize size{.ws_row = 24, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal");
  ::fcntl(ours, F_SETFD, FD_CLOEXEC);
  ::fcntl(theirs, F_SETFD, FD_CLOEXEC);
  ::fcntl(ours, F_SETFL, O_NONBLOCK);
  return {Fd(ours), Fd(theirs)};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(const Process::Plan& plan, int in, int out, int err) {
  std::vector<std::string> pairs;
  for (const auto& [name, value] : plan.environment) pairs.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(plan.command);
  const std::vector<char*> envp = pointers(pairs);
  ::setsid();
  if (plan.on_terminal) ::ioctl(in, TIOCSCTTY, 0);
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0 || ::chdir(plan.folder.c_str()) != 0)
    ::_exit(99);
  ::execvpe(argv[0], argv.data(), envp.data());
  ::_exit(98);
}

void fill(const Fd& pipe) {
  ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  while (::write(pipe.get(), "", 1) == 1) {
  }
  ::fcntl(pipe.get(), F_SETFL, 0);
}

void read_into(const Fd& fd, std::string& text) {
  char buffer[4096];
  for (ssize_t got = 0; fd && (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Process::Process(const Plan& plan) {
  Ends in, out, err;
  if (plan.on_terminal) {
    out = terminal();
    in.theirs.reset(::fcntl(out.theirs.get(), F_DUPFD_CLOEXEC, 0));
    in.ours.reset(::fcntl(out.ours.get(), F_DUPFD_CLOEXEC, 0));
    err.theirs.reset(::fcntl(out.theirs.get(), F_DUPFD_CLOEXEC, 0));
  } else {
    in = pipe_to_them();
    out = pipe_from_them();
    err = pipe_from_them();
  }
  if (plan.full_err) fill(err.theirs);
  if (plan.out >= 0) out.theirs.reset(::fcntl(plan.out, F_DUPFD_CLOEXEC, 0));
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) become(plan, in.theirs.get(), out.theirs.get(), err.theirs.get());
  out_ = std::move(out.ours);
  err_ = std::move(err.ours);
  if (plan.keep_input || plan.on_terminal) input_ = std::move(in.ours);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      out_text_(std::move(other.out_text_)),
      err_text_(std::move(other.err_text_)),
      code_(other.code_),
      ended_(other.ended_) {}

Process::~Process() {
  if (pid_ < 0) return;
  for (const pid_t pid : session_of(pid_)) send_signal(pid, SIGKILL);
  if (!ended_) ::waitpid(pid_, nullptr, 0);
}

void Process::type(std::string_view text) { (void)!::write(input_.get(), text.data(), text.size()); }

void Process::signal(int number) const {
  if (!ended_) send_signal(pid_, number);  // or its number may be somebody else's by now
}

void Process::resize(int rows, int columns) const {
  const winsize size{.ws_row = static_cast<unsigned short>(rows),
                     .ws_col = static_cast<unsigned short>(columns),
                     .ws_xpixel = 0,
                     .ws_ypixel = 0};
  ::ioctl(out_.get(), TIOCSWINSZ, &size);
}

bool Process::terminal_is_as_ever() const {
  termios mode{};
  return ::tcgetattr(out_.get(), &mode) == 0 && (mode.c_lflag & ECHO) != 0 && (mode.c_lflag & ICANON) != 0;
}

void Process::read_all() {
  read_into(out_, out_text_);
  read_into(err_, err_text_);
}

const std::string& Process::out() {
  read_all();
  return out_text_;
}

const std::string& Process::err() {
  read_all();
  return err_text_;
}

bool Process::await_out(std::string_view text) {
  return await([&] { return out().find(text) != std::string::npos; }, long_enough);
}

bool Process::await_err(std::string_view text) {
  return await([&] { return err().find(text) != std::string::npos; }, long_enough);
}

bool Process::has_ended() {
  read_all();  // or it may wait for us to
  int status = 0;
  if (ended_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return ended_;
  ended_ = true;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  read_all();
  return true;
}

int Process::wait(Millis limit) {
  await([&] { return has_ended(); }, limit);
  return code_;
}

}  // namespace holdfast::test
