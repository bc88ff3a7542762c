// SPDX-License-Identifier: Apache-2.0
// ruby.h - Ruby's locker 0.6: its statements, played by hand as the gem sends them.
#pragma once
#include <memory>
#include <string>

#include "tests/postgres/suite.h"

namespace holdfast::test {

// What a Locker object does, statement for statement.
class Ruby {
 public:
  Ruby(std::unique_ptr<Psql> psql, std::string key) : psql_(std::move(psql)), key_(std::move(key)) {
    ensure();
  }

  void ensure() {
    if (psql_->run("SELECT 1 FROM locks WHERE key = $1 LIMIT 1", {key_}) == 0)
      psql_->run("INSERT INTO locks (key) VALUES ($1)", {key_});
  }
  bool get(const std::string& seconds = "30.0") {
    return psql_->run(
               "UPDATE locks SET locked_by = $1, locked_at = clock_timestamp() at time zone 'UTC', "
               "locked_until = clock_timestamp() at time zone 'UTC' + interval '" +
                   seconds +
                   " seconds', sequence = sequence + 1 WHERE key = $2 AND (locked_by IS NULL OR locked_by = "
                   "$1 "
                   "OR locked_until < clock_timestamp() at time zone 'UTC')",
               {name_, key_}) > 0;
  }
  bool renew() {
    return psql_->run(
               "UPDATE locks SET locked_until = clock_timestamp() at time zone 'UTC' + interval '30.0 "
               "seconds' "
               "WHERE key = $1 AND locked_by = $2",
               {key_, name_}) > 0;
  }
  bool release() {
    return psql_->run("UPDATE locks SET locked_by = NULL WHERE key = $1 AND locked_by = $2", {key_, name_}) >
           0;
  }
  int prune(const std::string& before = "clock_timestamp() at time zone 'UTC'") {
    return psql_->run("DELETE FROM locks WHERE locked_until < " + before);
  }
  std::string sequence() {
    return psql_->value("SELECT sequence FROM locks WHERE key = $1 AND locked_by = $2", {key_, name_});
  }
  const std::string& name() const { return name_; }
  Psql& psql() { return *psql_; }

 private:
  const std::unique_ptr<Psql> psql_;
  const std::string key_;
  const std::string name_ = "host:ruby pid:1 guid:" + random_hex(32);
};

}  // namespace holdfast::test
