// SPDX-License-Identifier: Apache-2.0
// usual.h - servers where people expect them: localhost, on their usual ports.
#pragma once
#include <string>
#include <vector>

namespace holdfast::test {

inline constexpr int cannot_be_alone = 77;

// Runs the command in a network of its own, in which PostgreSQL (with the database and the role `app`, who
// needs no password) listens on localhost:5432 and Redis on localhost:6379.  Returns its exit code, or
// cannot_be_alone where the system does not allow such a network.
int run_with_usual_servers(const std::vector<std::string>& command);

}  // namespace holdfast::test
