// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/usual.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "base/fd.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {
namespace {

// A new network has a loopback that is down.
bool raise_loopback() {
  const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  return any && ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

// Who is not root may have a network in a user namespace, in which they stay who they are.
bool be_alone() {
  if (::unshare(CLONE_NEWNET) == 0) return raise_loopback();
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
  std::ofstream("/proc/self/gid_map") << group << ' ' << group << " 1";
  return raise_loopback();
}

int run(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(words[0], words.data());
    std::perror(words[0]);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 70;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_with_usual_servers(const std::set<std::string>& names, const std::vector<std::string>& command) {
  if (!be_alone()) {
    std::perror("servers: cannot have a network of our own");
    return cannot_be_alone;
  }
  std::optional<PostgresServer> postgres;
  std::optional<RedisServer> redis;
  std::optional<MongoServer> mongodb;
  std::optional<MariaServer> mariadb;
  for (const std::string& name : names) {
    if (name == "postgres") {
      postgres.emplace(PostgresOptions{.authentication = "trust", .port = 5432});
      postgres->execute("CREATE ROLE app LOGIN");
      postgres->execute("CREATE DATABASE app OWNER app");
    } else if (name == "redis") {
      redis.emplace(RedisOptions{.port = 6379});
    } else if (name == "mongodb") {
      mongodb.emplace(MongoOptions{.port = 27017});
    } else if (name == "mariadb") {
      mariadb.emplace(MariaOptions{.port = 3306});
      // To its clients localhost is the socket: to the library, and to the command, which has my.cnf.
      ::setenv("MYSQL_UNIX_PORT", mariadb->socket().c_str(), 1);
      ::setenv("MYSQL_HOME", mariadb->folder().c_str(), 1);
    } else {
      throw std::runtime_error("there is no server " + name);
    }
  }
  return run(command);
}

}  // namespace holdfast::test
