// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/pgbouncer.h"

#include <libpq-fe.h>
#include <signal.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "tests/support/await.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {

PgBouncer::PgBouncer(const PostgresAddress& behind, std::vector<std::string> lines)
    : behind_(behind), lines_(std::move(lines)) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  do {
    port_ = free_port();
  } while (!launch());
}

PgBouncer::~PgBouncer() {
  if (running_) running_->signal(SIGKILL);
}

std::string PgBouncer::url(const std::string& database) const {
  return "postgres://" + std::string(PostgresAddress::superuser) + "@127.0.0.1:" + std::to_string(port_) +
         "/" + database;
}

bool PgBouncer::launch() {
  std::stringstream text;
  text << "[databases]\n* = host=127.0.0.1 port=" << behind_.port << " user=" << PostgresAddress::superuser
       << " password=" << PostgresAddress::superuser_password
       << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
       << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\nmax_client_conn = 200\n";
  for (const std::string& line : lines_) text << line << '\n';
  write_file(folder_.path() + "/pgbouncer.ini", text.str());
  hand_over(folder_.path());

  running_ = std::make_unique<Guarded>(
      Program{.words = {find_program("pgbouncer"), folder_.path() + "/pgbouncer.ini"},
              .user = server_user(),
              .log = folder_.path() + "/log",
              .folder = folder_.path(),
              .end_signal = SIGKILL});
  const std::string where = url();
  const bool settled = await([&] { return running_->ended() || PQping(where.c_str()) == PQPING_OK; });
  if (settled && !running_->ended()) return true;
  const std::string said = running_->said();
  running_.reset();
  if (said.find("in use") != std::string::npos) return false;
  throw std::runtime_error("pgbouncer does not start; it said:\n" + said);
}

std::string pgbouncer_missing() {
  return find_program("pgbouncer").empty() ? "PgBouncer is missing (Debian package pgbouncer)" : "";
}

}  // namespace holdfast::test
