// SPDX-License-Identifier: Apache-2.0
// raw_mariadb.h - leases by hand on libmariadb: prepared statements on our table, and no more.
#pragma once
#include <mysql.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/subject.h"

namespace holdfast::bench {

struct FreeMaria {
  void operator()(MYSQL* connection) const noexcept { mysql_close(connection); }
  void operator()(MYSQL_STMT* statement) const noexcept { mysql_stmt_close(statement); }
};
using MariaConnection = std::unique_ptr<MYSQL, FreeMaria>;

// To the database `app`, as `app`, on this machine.  Throws with the server's words.
MariaConnection connect_mariadb(int port);

class MariaStatement {
 public:
  MariaStatement(MYSQL* connection, std::string_view sql);

  // With these for its question marks, until no deadlock ends it.  Rows that it returned or changed.
  std::uint64_t run(std::span<const std::string> values);
  std::uint64_t run(std::initializer_list<std::string> values) { return run(std::span(values)); }
  // Of the last row that it returned: the first two fields.
  std::string_view field(std::size_t column) const { return {texts_[column].data(), sizes_[column]}; }

 private:
  void bind_columns();

  std::unique_ptr<MYSQL_STMT, FreeMaria> statement_;
  std::array<std::array<char, 600>, 2> texts_{};
  std::array<unsigned long, 2> sizes_{};
};

class RawMaria final : public ByHand {
 public:
  explicit RawMaria(int port);  // REQUIRES: the table `locks` is there

  void acquire_and_release(const std::string& key, const std::string& owner) override;
  // Two statements with a row for each.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) override;
  bool is_held(const std::string& key) override;
  void ask() override;

  // The server's own locks.  They end with the connection and not before: no ttl, no token, nobody's name,
  // nothing on disk.
  void named_pair(const std::string& name);

 private:
  const MariaConnection connection_;
  MariaStatement acquire_, release_, held_, ask_, lock_, unlock_;
  std::unique_ptr<MariaStatement> acquire_all_, release_all_;
  std::size_t batch_ = 0;  // that those are made for
};

// RELEASE_LOCK() in one process, GET_LOCK() in the other.
class NamedLockWire final : public Wire {
 public:
  explicit NamedLockWire(int port) : port_(port) {}
  void join(int me) override;
  void send() override;
  void receive() override;

 private:
  const int port_;
  MariaConnection connection_;
  std::unique_ptr<MariaStatement> lock_, unlock_;
};

}  // namespace holdfast::bench
