// SPDX-License-Identifier: Apache-2.0
// compose.h - statements that are made of parts: a rule is written once, in a file of its own, and put in
// wherever it holds.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace holdfast::postgres {

// What stands for {word}.  It may have words of its own.
using Parts = std::map<std::string, std::string, std::less<>>;

// `sql` with its words put in, as long as `parts` has any; the names of tables are left to Tables::expand.
// {note TRAIL | MOMENT | EVENT | DETAIL} is a trail with one more line.
std::string compose(std::string_view sql, const Parts& parts);

// The text of such a part: without what its file says about it.
std::string part(std::string_view sql);

// The parts of the rule of leases (sql/rule_*.sql).
Parts lease_rule(std::string_view client, std::string_view void_after, std::string_view patience);

}  // namespace holdfast::postgres
