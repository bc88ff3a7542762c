// SPDX-License-Identifier: Apache-2.0
// darwin_suite.h - a table of layout=darwin, and nodes of Java's on it: their statements, played by hand.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "tests/mariadb/suite.h"

namespace holdfast::test {

// A node with Darwin's Locker, as reference has it: MySQL's statements.
class Node {
 public:
  Node(std::unique_ptr<Stranger> connection, std::string instance)
      : connection_(std::move(connection)), instance_(std::move(instance)) {}

  bool can_lease(const std::string& name) {
    return run("SELECT 1 FROM DARWIN_LOCK WHERE processName = '" + name + "' AND leaseUntil >= NOW()") == 0;
  }
  // False: ProcessIsLockedException, or IllegalStateException where a take-over was lost.
  bool lease(const std::string& name, int seconds, const std::string& key = "1a1dccd476c") {
    if (!can_lease(name)) return false;
    run("DELETE FROM DARWIN_LOCK WHERE processName = '" + name + "' AND leaseUntil <= NOW()");
    return connection_->error_of("INSERT INTO DARWIN_LOCK (processName, leaseUntil, unlockKey) VALUES ('" +
                                 name + "', NOW() + INTERVAL " + std::to_string(seconds) + " SECOND, '" +
                                 key + "_" + instance_ + "')") == 0;
  }
  bool renew(const std::string& name, int seconds, const std::string& key = "1a1dccd476c") {
    return run("UPDATE DARWIN_LOCK SET leaseUntil = NOW() + INTERVAL " + std::to_string(seconds) +
               " SECOND WHERE processName = '" + name + "' AND unlockKey = '" + key + "_" + instance_ +
               "'") == 1;
  }
  bool release(const std::string& name, const std::string& key = "1a1dccd476c") {
    return run("DELETE FROM DARWIN_LOCK WHERE processName = '" + name +
               "' AND (leaseUntil <= NOW() OR unlockKey = '" + key + "_" + instance_ + "')") == 1;
  }
  std::uint64_t release_all_of(const std::string& instance) {
    return run("DELETE FROM DARWIN_LOCK WHERE unlockKey LIKE '%_" + instance + "'");
  }

 private:
  // Darwin tries again whatever went wrong; 1213 is what may go wrong here.
  std::uint64_t run(const std::string& sql) {
    while (true) {
      try {
        return connection_->run(sql);
      } catch (const std::runtime_error& error) {
        if (std::string_view(error.what()).find("Deadlock") == std::string_view::npos) throw;
      }
    }
  }
  const std::unique_ptr<Stranger> connection_;
  const std::string instance_;
};

class DarwinTable : public MariaTest {
 protected:
  DarwinTable() { make_tables(darwin()); }
  std::string darwin() const { return url() + "?layout=darwin"; }
  Node node(const std::string& instance = "DEFAULT") const { return {stranger(), instance}; }
};

}  // namespace holdfast::test
