// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/shedlock.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace holdfast::postgres {
namespace {

// No owner is so long (core/check.h): of a lock of ShedLock's, in front of its name.
constexpr std::size_t in_front_of_theirs = 513;
constexpr std::size_t letters_of_mark = 26;  // " holdfast-" and 16 digits
constexpr std::size_t usual_longest = 255;

bool has_milliseconds(std::string_view type) {
  return type == "timestamp without time zone" ||
         (type.starts_with("timestamp(") && type.ends_with(" without time zone") && limit_in(type) >= 3);
}
bool is_text(std::string_view type) { return type == "text" || type.starts_with("character varying"); }

std::string what_is_wrong_with(const Columns& columns, bool one_row_per_name) {
  for (const char* name : {"name", "lock_until", "locked_at", "locked_by"}) {
    const bool text = std::string_view(name) == "name" || std::string_view(name) == "locked_by";
    const std::string wanted = text ? "text or varchar" : "timestamp without time zone, with milliseconds";
    const auto column = columns.find(name);
    const std::string what = "its column \"" + std::string(name) + "\" ";
    if (column == columns.end()) return what + "(" + wanted + ") is missing";
    const std::string& type = column->second.type;
    if (!(text ? is_text(type) : has_milliseconds(type)))
      return what + "is " + printable(type) + ", but has to be " + wanted;
  }
  if (const std::size_t limit = limit_in(columns.at("locked_by").type); limit != 0 && limit < 32)
    return "its column \"locked_by\" has " + std::to_string(limit) + " letters, but needs 32";
  if (!one_row_per_name) return "its column \"name\" needs a primary key or a unique index of its own";
  for (const auto& [name, column] : columns) {
    if (!column.demanded || name == "name" || name == "lock_until" || name == "locked_at" ||
        name == "locked_by")
      continue;
    return "its column \"" + printable(name) +
           "\" is NOT NULL without a default, but ShedLock and Holdfast insert rows without it; give it a "
           "default";
  }
  return {};
}

Answer only_looked(Connection& connection, Sql question, Parameters& parameters, Instant until) {
  Answer answer = connection.run(std::string(text(question)), parameters, until);
  if (answer.trouble()) {
    Error error = statement_error(*answer.trouble(), connection.settings().name());
    if (error.in_doubt()) error.code = Errc::unavailable;
    throw_failure(std::move(error));
  }
  return answer;
}

}  // namespace

Tables where_shedlock_is(Connection& connection, const Tables& tables, Instant until) {
  if (!tables.schema().empty()) return tables;
  const std::string table = tables.expand("{shedlock}");
  Parameters parameters;
  parameters.text(table);
  const Answer found = only_looked(connection, Sql::find_table, parameters, until);
  return found.rows() == 0 ? tables : tables.in_schema(found.text(0, 0));
}

void look_at_shedlock(Connection& connection, ServerProbe& probe, Instant until) {
  const std::string table = probe.tables.expand("{shedlock}");
  Parameters parameters;
  parameters.text(table);
  const Answer answer = only_looked(connection, Sql::probe_shedlock, parameters, until);
  if (answer.rows() == 0) {
    probe.missing.insert(probe.missing.begin(), "shedlock");
    return;
  }
  const ColumnsByTable columns = columns_in(answer.text(0, 2));
  const auto own = columns.find("");
  const bool is_table = answer.letter(0, 0) == 'r' || answer.letter(0, 0) == 'p';
  const std::string wrong = is_table && own != columns.end()
                                ? what_is_wrong_with(own->second, answer.flag(0, 1))
                                : "it is not a table";
  if (!wrong.empty()) {
    if (probe.wrong.empty())
      probe.wrong = "the table \"" + probe.tables.name() + "\" is not as ShedLock creates it: " + wrong;
    return;
  }
  probe.longest_key = limit_in(own->second.at("name").type);
  probe.longest_mark = limit_in(own->second.at("locked_by").type);
}

ShedlockBatch::ShedlockBatch(const Tables& tables, std::size_t longest_owner)
    : statements_(tables.at_one_moment()),
      longest_owner_(static_cast<std::int64_t>((longest_owner == 0 ? usual_longest : longest_owner) -
                                               letters_of_mark)) {}

Answer ShedlockBatch::run(Connection& connection, Parameters& apply, std::span<const Request> requests,
                          const core::KeyBatch& key_batch, std::int64_t void_after, Millis patience,
                          Instant until) {
  made_.clear();
  made_.number(patience.count()).texts();
  for (const std::size_t i : key_batch)
    if (requests[i].verb == Verb::acquire) made_.add(requests[i].key.text);
  const auto add_keys = [&](Parameters& parameters) {
    parameters.texts();
    for (const std::size_t i : key_batch) parameters.add(requests[i].key.text);
  };
  taken_.clear();
  add_keys(taken_);
  written_.clear();
  add_keys(written_);
  written_.number(void_after).number(longest_owner_);
  enum : std::size_t { decided = 3 };
  const std::array<Step, 5> steps{
      Step{statements_[Sql::make_rows], made_}, Step{statements_[Sql::lock_rows], taken_},
      Step{statements_[Sql::take_in], taken_}, Step{statements_[Sql::apply], apply},
      Step{statements_[Sql::write_out], written_}};
  std::vector<Answer> answers = connection.run(steps, until);
  // ShedLock has inserted the row meanwhile: try again, as after any conflict of transactions.
  if (const auto& trouble = answers.back().trouble(); trouble && trouble->state == "23505")
    return Answer(Trouble{"40001", trouble->text});
  return std::move(answers.back().trouble() ? answers.back() : answers[decided]);
}

void ShedlockBatch::show(core::Row& row) {
  if (row.token >= 0) return;
  row.token = 0;
  row.owner.remove_prefix(std::min(row.owner.size(), in_front_of_theirs));
}

}  // namespace holdfast::postgres
