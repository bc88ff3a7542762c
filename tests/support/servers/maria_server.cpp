// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/maria_server.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "tests/support/freeze.h"
#include "tests/support/servers/engine.h"
#include "tests/support/servers/port.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

// Neither runs as root unless an option says so.  Looked up once: servers start side by side, and getpwuid()
// answers in one place for all threads.
const std::string& ourselves() {
  static const std::string name = [] {
    const passwd* entry = ::getpwuid(::geteuid());
    return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
  }();
  return name;
}

std::string program(bool mysql) {
  return mysql ? engine_folder(HOLDFAST_MYSQL_ENGINE) + "/mysqld" : find_program("mariadbd");
}

// Small files and little memory: many of them run at once, and each is a copy.
std::string small(bool mysql) {
  return std::string("innodb_buffer_pool_size = 16M\nperformance_schema = OFF\n") +
         (mysql ? "innodb_redo_log_capacity = 8M\nmysqlx = OFF\nskip_log_bin\nsecure_file_priv =\n"
                : "innodb_log_file_size = 4M\naria_log_file_size = 8M\n");
}

std::string quoted(const std::string& text) {
  std::string sql = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') sql += '\\';
    sql += c;
  }
  return sql + "'";
}

}  // namespace

MariaTemplate::MariaTemplate() {
  const std::string config = folder_.path() + "/my.cnf";
  // One that starts takes away the temporary tables of all others in the same folder.
  write_file(config, "[mysqld]\ntmpdir = " + folder_.path() + "\n" + small(false));
  run_to_end(
      {.words = {find_program("mariadb-install-db"), "--defaults-file=" + config, "--user=" + ourselves(),
                 "--datadir=" + data(), "--auth-root-authentication-method=normal", "--skip-test-db"},
       .folder = folder_.path()});
}

MariaServer::MariaServer(MariaOptions options) : options_(std::move(options)) {
  mysql_ = options_.mysql;
  socket_ = folder_.path() + "/sock";
  const std::string made = mysql_ ? engine_folder(HOLDFAST_MYSQL_ENGINE) + "/data" : mariadb_template();
  run_to_end({.words = {"cp", "-a", "--reflink=auto", made, data()}});
  do {
    port_ = options_.port != 0 ? options_.port : free_port();
  } while (!launch());
  // A client on the socket is at localhost; one over TCP is not, because names are not resolved.
  for (const char* host : {"'localhost'", "'%'"})
    query("CREATE USER app@" + std::string(host) + " IDENTIFIED BY " + quoted(options_.password) +
          "; GRANT ALL ON *.* TO app@" + host + " WITH GRANT OPTION");
  query("CREATE DATABASE app");
}

MariaServer::~MariaServer() {
  if (running_) running_->signal(SIGKILL);
}

void MariaServer::stop() {
  running_->signal(SIGTERM);
  running_->signal(SIGCONT);
  running_->wait();
  running_.reset();
}

void MariaServer::kill() {
  running_->signal(SIGKILL);
  running_->wait();
  running_.reset();
}

void MariaServer::start() {
  if (!await([&] { return launch(); }))
    throw std::runtime_error("the port of " + program(mysql_) + " stays taken by another");
}

void MariaServer::pause() { freeze(running_->pid()); }
void MariaServer::resume() { running_->signal(SIGCONT); }

bool MariaServer::launch() {
  configure();
  running_ = std::make_unique<Guarded>(
      Program{.words = {program(mysql_), "--defaults-file=" + folder_.path() + "/my.cnf"},
              .log = log(),
              .folder = folder_.path(),
              .end_signal = SIGKILL});
  // A node of a cluster answers before it takes writes.
  const auto& lines = options_.lines;
  const bool node = std::find(lines.begin(), lines.end(), "wsrep_on=ON") != lines.end();
  const auto ready = [&] {
    return answers() && (!node || query("SHOW STATUS LIKE 'wsrep_ready'").ends_with("ON"));
  };
  const bool settled = await([&] { return running_->ended() || ready(); }, std::chrono::minutes(1));
  if (settled && !running_->ended()) return true;
  const std::string said = running_->said();
  running_.reset();
  if (said.find("Address already in use") != std::string::npos) return false;
  throw std::runtime_error(program(mysql_) + " does not start; it said:\n" + said);
}

void MariaServer::configure() const {
  std::stringstream text;
  text << "[client]\nsocket = " << socket_ << "\n[mysqld]\nuser = " << ourselves() << "\ndatadir = " << data()
       << "\nport = " << port_ << "\nbind_address = 127.0.0.1\nsocket = " << socket_
       << "\ntmpdir = " << folder_.path() << "\npid_file = " << folder_.path()
       << "/pid\nskip_name_resolve = ON\nmax_connections = 300\n"
       << small(mysql_);
  // The log is still written before a commit is answered: a process that is killed loses nothing.
  if (!options_.fsync) text << "innodb_flush_log_at_trx_commit = 2\ninnodb_doublewrite = OFF\n";
  if (options_.tls)
    text << "ssl_cert = " << options_.tls->certificate << "\nssl_key = " << options_.tls->key << '\n';
  for (const std::string& line : options_.lines) text << line << '\n';
  write_file(folder_.path() + "/my.cnf", text.str());
}

std::string mariadb_missing() {
  return find_program("mariadbd").empty() || find_program("mariadb-install-db").empty()
             ? "MariaDB is missing (Debian package mariadb-server)"
             : "";
}

std::string mysql_missing() {
  return has_engine(HOLDFAST_MYSQL_ENGINE)
             ? ""
             : "MySQL is missing (tests/support/servers/engines/fetch.sh mysql fetches it)";
}

}  // namespace holdfast::test
