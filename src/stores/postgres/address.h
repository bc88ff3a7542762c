// SPDX-License-Identifier: Apache-2.0
// address.h - where a database is: what is wrong with it before libpq sees it, and how it is shown.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::postgres {

// As libpq has them: {"host", "db.example"}.
using Words = std::vector<std::pair<std::string, std::string>>;

// The value; empty: not given.
std::string find(const Words& words, std::string_view name);
// The parts between commas: libpq takes several hosts.
std::vector<std::string> split(std::string_view list);

// Nothing of it is quoted: where a password holds an @ or a / as it is, any piece may be part of it.
Error unreadable_address();

// Errc::invalid for a URL whose user or host libpq would cut out of the middle of a password.
Status check_address(std::string_view conninfo);
// Errc::invalid for a port that is none, or an sslmode that libpq does not know.
Status check_words(const Words& words);

// postgres://USER@HOST/DATABASE, several hosts with their ports.  Without any secret.
std::string name_from(const Words& words);

}  // namespace holdfast::postgres
