// SPDX-License-Identifier: Apache-2.0
// granted_role.h - a role that has what pages of docs/ grant to `app`, and no more.
#pragma once
#include <string>

#include "base/random.h"
#include "tests/support/documented_grants.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {

class GrantedRole {
 public:
  explicit GrantedRole(const std::string& schema) : schema_(schema) {
    shared_postgres().execute("CREATE ROLE " + name_ + " LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA " +
                              schema_ + " TO " + name_);
  }
  GrantedRole(const GrantedRole&) = delete;
  GrantedRole& operator=(const GrantedRole&) = delete;
  ~GrantedRole() { shared_postgres().execute("DROP OWNED BY " + name_ + "; DROP ROLE " + name_); }

  // The block with these words.
  void grant(const std::string& words, const std::string& page = "/stores/postgres.md") const {
    shared_postgres().execute("SET search_path = " + schema_ + "; " + documented_grants(page, words, name_));
  }
  const std::string& name() const { return name_; }
  std::string url(const std::string& parameters = "") const {
    return shared_postgres().url(name_, "postgres", "p") + parameters;
  }

 private:
  const std::string schema_, name_ = "r_" + random_hex(16);
};

}  // namespace holdfast::test
