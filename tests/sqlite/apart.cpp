// SPDX-License-Identifier: Apache-2.0
#include "tests/sqlite/apart.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/fd.h"

namespace holdfast::test {
namespace {

constexpr uid_t nobody = 65534;

void require(bool done, const char* what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

void say_and_die(int to, const std::function<std::string()>& body) {
  std::string said;
  try {
    said = body();
  } catch (const std::exception& e) {
    said = std::string("threw: ") + e.what();
  }
  for (std::size_t sent = 0; sent < said.size();) {
    const ssize_t now = ::write(to, said.data() + sent, said.size() - sent);
    if (now <= 0) break;
    sent += static_cast<std::size_t>(now);
  }
  ::_exit(0);
}

// An ordinary user may mount where it is root: in a user namespace, in which it stays the owner of its files.
bool become_root_of_our_own() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
  return ::geteuid() == 0;
}

}  // namespace

std::string apart(const std::function<std::string()>& body) {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  if (child == 0) say_and_die(to.get(), body);
  to.reset();
  std::string said;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(from.get(), bytes, sizeof bytes)) > 0;)
    said.append(bytes, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? said + "died of signal " + std::to_string(WTERMSIG(status)) : said;
}

void become(uid_t user, const std::vector<gid_t>& groups) {
  require(::setgroups(groups.size(), groups.data()) == 0, "setgroups");
  require(::setresgid(user, user, user) == 0, "setresgid");
  require(::setresuid(user, user, user) == 0, "setresuid");
}

void become_ordinary() {
  if (::geteuid() == 0) become(nobody);
}

bool keep_mounts_to_ourselves() {
  const bool apart = ::unshare(CLONE_NEWNS) == 0 || become_root_of_our_own();
  return apart && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

void mount_memory(const std::string& folder, const std::string& options) {
  require(::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) == 0, "mount");
}

void change_memory(const std::string& folder, const std::string& options) {
  require(::mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, options.c_str()) == 0, "remount");
}

void mount_read_only(const std::string& folder) {
  require(::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0, "bind");
  require(::mount(nullptr, folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0,
          "remount");
}

void limit_descriptors(unsigned long most) {
  const rlimit limit{most, most};
  require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

}  // namespace holdfast::test
