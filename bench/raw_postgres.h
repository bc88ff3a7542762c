// SPDX-License-Identifier: Apache-2.0
// raw_postgres.h - leases by hand on libpq: prepared statements on locker's table, and no more.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "bench/subject.h"

// libpq's, by the names that its typedefs stand for.
struct pg_conn;
struct pg_result;

namespace holdfast::bench {

struct FreePostgres {
  void operator()(pg_conn* connection) const noexcept;
  void operator()(pg_result* result) const noexcept;
};
using Connection = std::unique_ptr<pg_conn, FreePostgres>;
using Rows = std::unique_ptr<pg_result, FreePostgres>;

// Throw with the server's words.
Connection connect_postgres(const std::string& url);
Rows run_sql(pg_conn* connection, const std::string& sql);

class RawPostgres final : public ByHand {
 public:
  explicit RawPostgres(const std::string& url);  // REQUIRES: the table `locks` is there

  void acquire_and_release(const std::string& key, const std::string& owner) override;
  // Two statements with arrays.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) override;
  bool is_held(const std::string& key) override;
  void ask() override;

  // The server's own locks.  They end with the connection and not before: no ttl, no token, nobody's name,
  // nothing on disk, and they do not work through a transaction pooler.
  void advisory_pair(std::int64_t key);

 private:
  void prepare(const char* name, std::string_view sql);
  Rows run(const char* name, std::initializer_list<const char*> values);

  const Connection connection_;
};

// NOTIFY in one process, LISTEN in the other.
class NotifyWire final : public Wire {
 public:
  explicit NotifyWire(std::string url) : url_(std::move(url)) {}
  void join(int me) override;
  void send() override;
  void receive() override;

 private:
  const std::string url_;
  Connection connection_;
  std::string send_;
};

}  // namespace holdfast::bench
