// SPDX-License-Identifier: Apache-2.0
// usual.h - servers where people expect them: localhost, on their usual ports.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

inline constexpr int cannot_be_alone = 77;

// Runs the command in a network of its own, in which servers listen on localhost: those of `postgres` (5432),
// `redis` (6379), `mongodb` (27017), `mariadb` (3306) that are named.  PostgreSQL and MariaDB have the
// database and the user `app`, which needs no password.  Returns the exit code, or cannot_be_alone where the
// system does not allow such a network.
int run_with_usual_servers(const std::set<std::string>& names, const std::vector<std::string>& command);

}  // namespace holdfast::test
