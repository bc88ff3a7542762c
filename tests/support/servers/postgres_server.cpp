// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/postgres_server.h"

#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/shm.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/freeze.h"
#include "tests/support/servers/port.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

// Its own children, as the kernel knows them.
std::set<int> children_of(int pid) {
  const std::string name = std::to_string(pid);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  std::set<int> found;
  for (int child = 0; file >> child;) found.insert(child);
  return found;
}

// A postmaster that was killed leaves a small System V segment behind, which the next one on the same data
// would remove.  Where there is no next one, we do: line 7 of postmaster.pid is its key and id.
void remove_shared_memory(const std::string& data) {
  std::ifstream file(data + "/postmaster.pid");
  std::string line;
  for (int i = 0; i < 6; ++i) std::getline(file, line);
  unsigned long key = 0;
  int id = 0;
  if (file >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
}

}  // namespace

PostgresTemplate::PostgresTemplate() {
  const std::string password = folder_.path() + "/password";
  write_file(password, PostgresAddress::superuser_password);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  hand_over(folder_.path());
  run_to_end(
      {.words = {find_program("initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust",
                 "--wal-segsize=1", "--username=postgres", "--pwfile=" + password, "--pgdata=" + data()},
       .user = server_user(),
       .folder = folder_.path()});
}

PostgresServer::PostgresServer(PostgresOptions options) : options_(std::move(options)) {
  socket_folder = folder_.path();
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  run_to_end({.words = {"cp", "-a", "--reflink=auto", postgres_template(), data()}});
  do {
    port = options_.port != 0 ? options_.port : free_port();
  } while (!launch());
}

PostgresServer::~PostgresServer() {
  if (running_) {
    resume();
    running_->signal(SIGQUIT);
    running_.reset();
  }
  remove_shared_memory(data());
}

void PostgresServer::stop() {
  resume();
  running_->signal(SIGINT);
  running_->wait();
  running_.reset();
}

void PostgresServer::kill() {
  // Children that are stopped could not notice that they are orphans.
  running_->signal(SIGKILL);
  resume();
  running_->wait();
  running_.reset();
}

void PostgresServer::start() {
  if (!await([&] { return launch(); }))
    throw std::runtime_error("the port of postgres stays taken by another");
}

void PostgresServer::pause() {
  // The postmaster first, so that none is born meanwhile.
  freeze(pid());
  for (const int child : children_of(pid())) pause_backend(child);
}

void PostgresServer::resume() {
  for (const int child : std::set<int>(paused_)) resume_backend(child);
  running_->signal(SIGCONT);
}

void PostgresServer::pause_backend(int backend) {
  paused_.insert(backend);
  freeze(backend);
}

void PostgresServer::resume_backend(int backend) {
  paused_.erase(backend);
  ::kill(backend, SIGCONT);
}

bool PostgresServer::launch() {
  configure();
  running_ = std::make_unique<Guarded>(Program{.words = {find_program("postgres"), "-D", data()},
                                               .user = server_user(),
                                               .log = log(),
                                               .folder = folder_.path(),
                                               .end_signal = SIGQUIT});
  const std::string where = socket_url();
  const bool settled = await([&] { return running_->ended() || PQping(where.c_str()) == PQPING_OK; });
  if (settled && !running_->ended()) return true;
  const std::string said = running_->said();
  running_.reset();
  if (said.find("could not bind") != std::string::npos) return false;
  throw std::runtime_error("postgres does not start; it said:\n" + said);
}

void PostgresServer::configure() const {
  std::stringstream text;
  text << "listen_addresses = '127.0.0.1'\nport = " << port << "\nunix_socket_directories = '"
       << socket_folder << "'\nfsync = "
       << (options_.fsync ? "on" : "off")
       // Nothing of a killed server stays behind in /dev/shm.
       << "\ndynamic_shared_memory_type = mmap\nlog_line_prefix = '%m [%p] '\n";
  if (options_.tls) {
    namespace fs = std::filesystem;
    const auto replace = fs::copy_options::overwrite_existing;
    fs::copy_file(options_.tls->certificate, data() + "/server.crt", replace);
    fs::copy_file(options_.tls->key, data() + "/server.key", replace);
    fs::permissions(data() + "/server.key", fs::perms(0600));
    text << "ssl = on\n";
  }
  for (const std::string& line : options_.lines) text << line << '\n';
  write_file(data() + "/postgresql.conf", text.str());

  text.str("");
  for (const std::string& line : options_.hba) text << line << '\n';
  text << "local all all trust\nhost all all 127.0.0.1/32 " << options_.authentication
       << "\nlocal replication all trust\nhost replication all 127.0.0.1/32 trust\n";
  write_file(data() + "/pg_hba.conf", text.str());
  hand_over(folder_.path());
}

std::string postgres_missing() {
  if (find_program("initdb").empty() || find_program("postgres").empty())
    return "PostgreSQL is missing (Debian package postgresql)";
  if (!server_user().empty() && getpwnam(server_user().c_str()) == nullptr)
    return "PostgreSQL does not run as root, and there is no user postgres (Debian package postgresql)";
  return "";
}

}  // namespace holdfast::test
