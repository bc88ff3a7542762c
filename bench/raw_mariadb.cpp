// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_mariadb.h"

#include <mysqld_error.h>

#include <stdexcept>

#include "base/text.h"
#include "bench/sql/maria_acquire.sql.h"

namespace holdfast::bench {
namespace {

constexpr const char* row = "(?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 30 SECOND, 1)";

[[noreturn]] void mariadb_failed(const std::string& why) { throw std::runtime_error("by hand: " + why); }

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) (all += i == 0 ? "" : ", ") += text;
  return all;
}

std::string acquire_of(std::size_t rows) {
  return substitute(maria_acquire_sql, [&](std::string_view) { return repeated(row, rows); });
}

// Waits so long for it that a run has ended before.
constexpr const char* get_lock = "SELECT GET_LOCK(?, 3600)";
constexpr const char* release_lock = "SELECT RELEASE_LOCK(?)";

void must_be_one(MariaStatement& statement, const std::string& name) {
  statement.run({name});
  if (statement.field(0) != "1") mariadb_failed("the lock " + name + " was refused");
}

}  // namespace

MariaConnection connect_mariadb(int port) {
  MariaConnection connection(mysql_init(nullptr));
  if (mysql_real_connect(connection.get(), "127.0.0.1", "app", "", "app", static_cast<unsigned int>(port),
                         nullptr, 0) == nullptr)
    mariadb_failed(mysql_error(connection.get()));
  return connection;
}

MariaStatement::MariaStatement(MYSQL* connection, std::string_view sql)
    : statement_(mysql_stmt_init(connection)) {
  if (mysql_stmt_prepare(statement_.get(), sql.data(), sql.size()) != 0)
    mariadb_failed(mysql_stmt_error(statement_.get()));
}

// The server tells only now which columns RETURNING has.
void MariaStatement::bind_columns() {
  std::array<MYSQL_BIND, 2> columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].buffer_type = MYSQL_TYPE_STRING;
    columns[i].buffer = texts_[i].data();
    columns[i].buffer_length = texts_[i].size();
    columns[i].length = &sizes_[i];
  }
  if (mysql_stmt_field_count(statement_.get()) > columns.size())
    mariadb_failed("more columns than are looked at");
  if (mysql_stmt_bind_result(statement_.get(), columns.data()) != 0)
    mariadb_failed(mysql_stmt_error(statement_.get()));
}

std::uint64_t MariaStatement::run(std::span<const std::string> values) {
  MYSQL_STMT* const statement = statement_.get();
  std::vector<MYSQL_BIND> binds(values.size());
  std::vector<unsigned long> sizes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    sizes[i] = values[i].size();
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = const_cast<char*>(values[i].data());
    binds[i].buffer_length = sizes[i];
    binds[i].length = &sizes[i];
  }
  if (!binds.empty() && mysql_stmt_bind_param(statement, binds.data()) != 0)
    mariadb_failed(mysql_stmt_error(statement));
  while (mysql_stmt_execute(statement) != 0)
    if (mysql_stmt_errno(statement) != ER_LOCK_DEADLOCK) mariadb_failed(mysql_stmt_error(statement));
  if (mysql_stmt_field_count(statement) == 0) return mysql_stmt_affected_rows(statement);
  bind_columns();
  std::uint64_t rows = 0;
  for (int done = 0; (done = mysql_stmt_fetch(statement)) != MYSQL_NO_DATA; ++rows)
    if (done != 0) mariadb_failed(mysql_stmt_error(statement));
  return rows;
}

RawMaria::RawMaria(int port)
    : connection_(connect_mariadb(port)),
      acquire_(connection_.get(), acquire_of(1)),
      release_(connection_.get(),
               "UPDATE locks SET locked_by = NULL WHERE `key` = ? AND locked_by = ? AND sequence = ?"),
      held_(connection_.get(), "SELECT 1 FROM locks WHERE `key` = ? AND locked_by IS NOT NULL"),
      ask_(connection_.get(), "SELECT 1"),
      lock_(connection_.get(), get_lock),
      unlock_(connection_.get(), release_lock) {}

void RawMaria::acquire_and_release(const std::string& key, const std::string& owner) {
  if (acquire_.run({key, owner}) != 1 || acquire_.field(0) != owner) mariadb_failed(key + " was not granted");
  if (release_.run({key, owner, std::string(acquire_.field(1))}) != 1)
    mariadb_failed(key + " was not released");
}

void RawMaria::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) {
  if (batch_ != keys.size()) {
    batch_ = keys.size();
    acquire_all_ = std::make_unique<MariaStatement>(connection_.get(), acquire_of(batch_));
    release_all_ = std::make_unique<MariaStatement>(
        connection_.get(),
        "UPDATE locks SET locked_by = NULL WHERE locked_by = ? AND `key` IN (" + repeated("?", batch_) + ")");
  }
  std::vector<std::string> wanted, given_back{owner};
  for (const std::string& key : keys) {
    wanted.insert(wanted.end(), {key, owner});
    given_back.push_back(key);
  }
  if (acquire_all_->run(wanted) != batch_ || acquire_all_->field(0) != owner)
    mariadb_failed("not all were granted");
  if (release_all_->run(given_back) != batch_) mariadb_failed("not all were released");
}

bool RawMaria::is_held(const std::string& key) { return held_.run({key}) == 1; }

void RawMaria::ask() { ask_.run({}); }

void RawMaria::named_pair(const std::string& name) {
  must_be_one(lock_, name);
  must_be_one(unlock_, name);
}

// Whoever has the lock has the word; the first has it before the game.
void NamedLockWire::join(int me) {
  connection_ = connect_mariadb(port_);
  lock_ = std::make_unique<MariaStatement>(connection_.get(), get_lock);
  unlock_ = std::make_unique<MariaStatement>(connection_.get(), release_lock);
  if (me == 0) receive();
}

void NamedLockWire::send() { must_be_one(*unlock_, "line"); }

void NamedLockWire::receive() { must_be_one(*lock_, "line"); }

}  // namespace holdfast::bench
