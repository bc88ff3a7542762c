// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/compose.h"

#include "base/text.h"
#include "core/job_rule.h"
#include "stores/postgres/sql/job_note.sql.h"
#include "stores/postgres/sql/rule_clock.sql.h"
#include "stores/postgres/sql/rule_judge.sql.h"
#include "stores/postgres/sql/rule_settle.sql.h"

namespace holdfast::postgres {
namespace {

constexpr std::string_view between = " | ";

std::string noted(std::string_view arguments, const Parts& parts) {
  const auto next = [&] {
    const std::size_t end = arguments.find(between);
    const std::string argument(arguments.substr(0, end));
    arguments.remove_prefix(end == std::string_view::npos ? arguments.size() : end + between.size());
    return argument;
  };
  Parts all = parts;
  all["trail"] = next();
  all["at_us"] = "{us " + next() + "}";
  all["event"] = next();
  all["detail"] = next();
  all["longest_trail"] = std::to_string(core::longest_trail);
  return compose(part(job_note_sql), all);
}

}  // namespace

std::string part(std::string_view sql) {
  while (sql.starts_with("--")) sql.remove_prefix(sql.find('\n') + 1);
  return std::string(sql.substr(0, sql.find_last_not_of('\n') + 1));
}

std::string compose(std::string_view sql, const Parts& parts) {
  return substitute(sql, [&](std::string_view word) -> std::string {
    if (word.starts_with("note ")) return noted(word.substr(5), parts);
    const auto found = parts.find(word);
    return found == parts.end() ? "{" + std::string(word) + "}" : compose(found->second, parts);
  });
}

Parts lease_rule(std::string_view client, std::string_view void_after, std::string_view patience) {
  return {{"clock", part(rule_clock_sql)},         {"judge", part(rule_judge_sql)},
          {"settle", part(rule_settle_sql)},       {"client", std::string(client)},
          {"void_after", std::string(void_after)}, {"patience", std::string(patience)}};
}

}  // namespace holdfast::postgres
