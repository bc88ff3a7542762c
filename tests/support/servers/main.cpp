// SPDX-License-Identifier: Apache-2.0
// servers - the servers of a run of tests, or of an afternoon.
//
//   servers start FILE   starts the shared servers in the background, and writes their addresses to FILE. It
//   ends
//                        with the process that started this one (ctest), however that ends
//   servers stop FILE    ends it, and waits until it is gone
//   servers with NAME,... CMD...  runs CMD in a network of its own, with those on their usual ports:
//   postgres,
//                        redis, mongodb, mariadb
//   servers ask URL      sends a MongoDB the command that stands on stdin, and prints its answer; both are
//   JSON servers up           one of each in the foreground, until Ctrl-C; prints their URLs
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/pgbouncer.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"
#include "tests/support/servers/usual.h"

namespace holdfast::test {
namespace {

Fd life_of(int pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

// Blocks the signals that end a program; readable when one came.
Fd asked_to_end() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return Fd(::signalfd(-1, &signals, SFD_CLOEXEC));
}

void wait_for_either(int one, int other) {
  pollfd ends[] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(ends, 2, -1) < 0) {
  }
}

// What `make` makes, in a thread of its own; null where its program is missing.
template <class Make>
std::future<std::invoke_result_t<Make>> if_not(const std::string& missing, Make make) {
  if (missing.empty()) return std::async(std::launch::async, make);
  return std::async(std::launch::deferred, [] { return std::invoke_result_t<Make>(); });
}

// In the background: starts, reports one byte and stays as long as `master` lives.
void serve(const std::string& path, const Fd& master, Fd report) {
  const Fd end = asked_to_end();
  SharedServers servers{.pid = ::getpid()};
  // Each takes a second or more, so they start side by side.
  auto initdb = if_not(postgres_missing(), [] { return std::make_unique<PostgresTemplate>(); });
  auto install_db = if_not(mariadb_missing(), [] { return std::make_unique<MariaTemplate>(); });
  const auto postgres_made = initdb.get();
  const auto mariadb_made = install_db.get();
  if (postgres_made) servers.postgres_template = postgres_made->data();
  if (mariadb_made) servers.mariadb_template = mariadb_made->data();
  // The servers copy the content of the file.
  write_shared(path, servers);
  ::setenv("HOLDFAST_TEST_SERVERS", path.c_str(), 1);

  auto postgres_starts =
      if_not(postgres_missing(), [] { return std::make_unique<PostgresServer>(shared_postgres_options()); });
  auto mariadb_starts =
      if_not(mariadb_missing(), [] { return std::make_unique<MariaServer>(shared_maria_options(false)); });
  auto mysql_starts =
      if_not(mysql_missing(), [] { return std::make_unique<MariaServer>(shared_maria_options(true)); });
  auto mongodb_starts = if_not(mongodb_missing(), [] { return std::make_unique<MongoServer>(); });
  const auto postgres = postgres_starts.get();
  const auto mariadb = mariadb_starts.get();
  const auto mysql = mysql_starts.get();
  const auto mongodb = mongodb_starts.get();
  if (postgres) servers.postgres = *postgres;
  if (mariadb) servers.mariadb = *mariadb;
  if (mysql) servers.mysql = *mysql;
  if (mongodb) servers.mongodb = *mongodb;
  write_shared(path, servers);
  if (::write(report.get(), "+", 1) != 1) return;
  report.reset();
  wait_for_either(end.get(), master.get());
  std::filesystem::remove(path);
}

int start(const std::string& path) {
  const Fd master = life_of(::getppid());
  int reports[2];
  if (!master || ::pipe2(reports, O_CLOEXEC) != 0) return 70;
  const Fd from(reports[0]);
  Fd to(reports[1]);
  const std::string log = path + ".log";
  if (::fork() == 0) {
    // ctest waits until nobody has its pipes any more.
    ::setsid();
    const int quiet = ::open("/dev/null", O_RDONLY);
    const int loud = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(quiet, 0);
    ::dup2(loud, 1);
    ::dup2(loud, 2);
    ::close(quiet);
    ::close(loud);
    try {
      serve(path, master, std::move(to));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::filesystem::remove(path);
      ::_exit(1);
    }
    ::_exit(0);
  }
  to.reset();
  char started = 0;
  if (::read(from.get(), &started, 1) == 1) return 0;
  std::fprintf(stderr, "servers: could not start them; the reason is in %s\n", log.c_str());
  return 1;
}

int stop(const std::string& path) {
  if (!std::filesystem::exists(path)) return 0;
  const int pid = read_shared(path).pid;
  const Fd life = life_of(pid);
  if (!life) return 0;
  ::kill(pid, SIGTERM);
  // A database for each test is ten thousands of files to take away.
  pollfd end{life.get(), POLLIN, 0};
  if (::poll(&end, 1, 150'000) == 1) return 0;
  std::fprintf(stderr, "servers: process %d does not end\n", pid);
  return 1;
}

int up() {
  for (const std::string& why :
       {postgres_missing(), redis_missing(), pgbouncer_missing(), mariadb_missing(), mongodb_missing()}) {
    if (why.empty()) continue;
    std::fprintf(stderr, "servers: %s\n", why.c_str());
    return 69;
  }
  const Fd end = asked_to_end();
  auto mysql_starts =
      if_not(mysql_missing(), [] { return std::make_unique<MariaServer>(MariaOptions{.mysql = true}); });
  const PostgresServer postgres({.authentication = "trust"});
  const RedisServer redis;
  const PgBouncer pgbouncer(postgres);
  const MongoServer mongodb;
  const MariaServer mariadb;
  const auto mysql = mysql_starts.get();
  const auto say = [](const std::string& url, const char* what) {
    std::printf("%s  %s\n", url.c_str(), what);
    std::fflush(stdout);
  };
  say(postgres.url("postgres", "postgres", ""), "PostgreSQL, without tables: holdfast init makes them");
  say(pgbouncer.url(), "the same through PgBouncer, in transaction mode");
  say(redis.url(), "Redis, with an append-only file");
  say(mongodb.url(), "MongoDB, a standalone");
  say(mariadb.url(), "MariaDB, without tables: holdfast init makes them");
  if (mysql) say(mysql->url(), "MySQL, likewise");
  std::fprintf(stderr, "servers: until Ctrl-C; all that was in them is gone then\n");
  wait_for_either(end.get(), -1);
  return 0;
}

std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> names;
  std::stringstream rest(list);
  for (std::string name; std::getline(rest, name, ',');) names.insert(name);
  return names;
}

int ask(const std::string& url) {
  const std::string command(std::istreambuf_iterator<char>(std::cin), {});
  const std::size_t path = url.find('/', url.find("://") + 3);
  const std::string database = path == std::string::npos ? "app" : url.substr(path + 1);
  std::printf("%s\n", MongoAddress(url).command(database, command).c_str());
  return 0;
}

int run(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "start" && argc == 3) return start(std::filesystem::absolute(argv[2]).string());
  if (verb == "stop" && argc == 3) return stop(argv[2]);
  if (verb == "with" && argc > 3) return run_with_usual_servers(names_in(argv[2]), {argv + 3, argv + argc});
  if (verb == "ask" && argc == 3) return ask(argv[2]);
  if (verb == "up" && argc == 2) return up();
  std::fprintf(stderr, "usage: servers start FILE | stop FILE | with NAME,... CMD... | ask URL | up\n");
  return 64;
}

}  // namespace
}  // namespace holdfast::test

int main(int argc, char** argv) {
  try {
    return holdfast::test::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "servers: %s\n", error.what());
    return 1;
  }
}
