// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/guarded.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/await.h"
#include "tests/support/scratch.h"

namespace holdfast::test {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

Guarded::Guarded(Program program) : program_(std::move(program)) {
  std::error_code absent;
  if (const auto size = std::filesystem::file_size(program_.log, absent); !absent) log_began_ = size;

  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) throw std::runtime_error("out of pipes");
  const Fd guard_in(down[0]), guard_out(up[1]), pid_from(up[0]);
  life_line_.reset(down[1]);

  std::vector<std::string> words{HOLDFAST_SERVER_GUARD, std::to_string(program_.end_signal),
                                 or_dash(program_.user), program_.log, or_dash(program_.folder)};
  words.insert(words.end(), program_.words.begin(), program_.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, guard_in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, guard_out.get(), 1);
  const int error = posix_spawn(&guard_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words[0]);

  std::string number;
  const_cast<Fd&>(guard_out).reset();
  for (char c = 0; ::read(pid_from.get(), &c, 1) == 1 && c != '\n';) number += c;
  if (number.empty()) throw std::runtime_error("the guard could not start " + program_.words[0]);
  pid_ = std::stoi(number);
}

Guarded::~Guarded() {
  life_line_.reset();
  if (code_ < 0) ::waitpid(guard_, nullptr, 0);
}

void Guarded::signal(int number) const {
  if (code_ < 0) ::kill(pid_, number);
}

bool Guarded::ended() {
  int status = 0;
  if (code_ >= 0) return true;
  if (::waitpid(guard_, &status, WNOHANG) == 0) return false;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

int Guarded::wait(Millis limit) {
  if (!await([&] { return ended(); }, limit))
    throw std::runtime_error(program_.words[0] + " does not end; it said:\n" + said());
  return code_;
}

std::string Guarded::said() const {
  constexpr std::size_t most = 4000;
  std::ifstream log(program_.log, std::ios::binary);
  log.seekg(static_cast<std::streamoff>(log_began_));
  std::stringstream text;
  text << log.rdbuf();
  std::string tail = text.str();
  if (tail.size() > most) tail = "..." + tail.substr(tail.size() - most);
  return tail;
}

void run_to_end(Program program) {
  const Scratch folder;
  const std::string name = program.words[0];
  program.log = folder.path() + "/log";
  Guarded running(std::move(program));
  if (const int code = running.wait(std::chrono::minutes(2)); code != 0)
    throw std::runtime_error(name + " ended with " + std::to_string(code) + "; it said:\n" + running.said());
}

std::string server_user() { return geteuid() == 0 ? "postgres" : ""; }

void hand_over(const std::string& path) {
  const std::string user = server_user();
  if (user.empty()) return;
  const passwd* owner = getpwnam(user.c_str());
  if (owner == nullptr) throw std::runtime_error("there is no user " + user);
  const auto give = [&](const std::string& file) {
    if (::lchown(file.c_str(), owner->pw_uid, owner->pw_gid) != 0)
      throw std::runtime_error("cannot give " + file + " to " + user);
  };
  give(path);
  if (!std::filesystem::is_directory(path)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) give(entry.path().string());
}

std::string find_program(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none))
    folders.push_back(version.path() / "bin");
  const auto number = [](const fs::path& bin) { return std::atoi(bin.parent_path().filename().c_str()); };
  std::sort(folders.begin(), folders.end(), [&](auto& a, auto& b) { return number(a) > number(b); });

  const char* path = std::getenv("PATH");
  std::stringstream rest(std::string(path == nullptr ? "" : path) + ":/usr/bin:/usr/sbin:/usr/local/bin");
  for (std::string folder; std::getline(rest, folder, ':');) folders.emplace_back(folder);
  for (const fs::path& folder : folders)
    if (::access((folder / name).c_str(), X_OK) == 0) return (folder / name).string();
  return "";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace holdfast::test
