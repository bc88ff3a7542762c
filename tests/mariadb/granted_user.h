// SPDX-License-Identifier: Apache-2.0
// granted_user.h - a user who has what pages of docs/ grant to `app`, and no more.
#pragma once
#include <string>

#include "base/random.h"
#include "tests/support/documented_grants.h"
#include "tests/support/servers/maria_address.h"

namespace holdfast::test {

class GrantedUser {
 public:
  GrantedUser(const MariaAddress& server, const std::string& database)
      : server_(server), database_(database) {
    server_.query("CREATE USER " + name_ + "@'%' IDENTIFIED BY ''");
  }
  GrantedUser(const GrantedUser&) = delete;
  GrantedUser& operator=(const GrantedUser&) = delete;
  ~GrantedUser() { server_.query("DROP USER " + name_ + "@'%'"); }

  // The block with these words.
  void grant(const std::string& words, const std::string& page = "/stores/mariadb.md") const {
    std::string sql = documented_grants(page, words, name_);
    if (const std::size_t at = sql.find("GRANT USAGE ON SEQUENCE"); at != std::string::npos)
      sql.insert(at, "-- ");  // PostgreSQL's
    server_.query(sql, database_);
  }
  const std::string& name() const { return name_; }
  std::string url(const std::string& parameters = "") const {
    return server_.url(name_, database_) + parameters;
  }

 private:
  const MariaAddress& server_;
  const std::string database_, name_ = "u_" + random_hex(16);
};

}  // namespace holdfast::test
