// SPDX-License-Identifier: Apache-2.0
// job_fields.h - the fields of a job, once: stores read and write a record by walking over them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/time.h"
#include "core/job_rule.h"

namespace holdfast::core {

// Call visit(name, member) for each field.  A store that reads a row column by column selects them in the
// order of each_field().

// What enqueue() gives a job, and only a duplicate that replaces it may change.
template <class Record, class Visit>  // JobRecord, or const
void each_given_field(Record& job, const Visit& visit) {
  auto& row = job.row;
  visit("id", row.id);
  visit("name", row.name);
  visit("queue", row.queue);
  visit("args", row.args);
  visit("key", row.key);
  visit("priority", row.priority);
  visit("enqueued_at", row.enqueued_at);
  visit("max_attempts", row.max_attempts);
  visit("lock_ttl", row.lock_ttl);
  visit("lock_fixed", row.lock_fixed);
  visit("limit", row.limit);
  visit("on_conflict", row.on_conflict);
  visit("unique", row.unique);
}

template <class Record, class Visit>
void each_changing_field(Record& job, const Visit& visit) {
  auto& row = job.row;
  visit("state", row.state);
  visit("run_at", row.run_at);
  visit("due_at", row.due_at);
  visit("started_at", row.started_at);
  visit("finished_at", row.finished_at);
  visit("attempt", row.attempt);
  visit("crashes", row.crashes);
  visit("slotted", row.slotted);
  visit("parked", row.parked);
  visit("holder", row.owner);
  visit("lock", row.lock);
  visit("token", row.token);
  visit("claim_until", job.claim_until);
  visit("error", row.error);
  visit("duplicates", row.duplicates);
  visit("trail", job.trail);
}

template <class Record, class Visit>
void each_field(Record& job, const Visit& visit) {
  each_given_field(job, visit);
  each_changing_field(job, visit);
}

// How many there are of an enum that is stored as the words of to_string(); else zero.
template <class>
inline constexpr std::size_t words_of = 0;
template <>
inline constexpr std::size_t words_of<JobState> = job_states;
template <>
inline constexpr std::size_t words_of<OnConflict> = static_cast<std::size_t>(OnConflict::replace) + 1;
template <>
inline constexpr std::size_t words_of<Unique> = static_cast<std::size_t>(Unique::until_success) + 1;

// The enumerator that is called so; none: no version of Holdfast has written that.
template <class Enum>
std::optional<Enum> enumerator_named(std::string_view word) noexcept {
  for (std::size_t i = 0; i < words_of<Enum>; ++i)
    if (word == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return std::nullopt;
}

// What the reader of a store's rows has besides its functions.
class FieldReader {
 public:
  // The value of that field says nothing.
  void damage(std::string_view name) {
    if (damaged_.empty() || name == "state") damaged_ = name;
  }
  const std::string& damaged() const noexcept { return damaged_; }

 private:
  std::string damaged_ = {};  // the state, or else the first: by its state it is decided what a job may do
};

// Reads a record.  `reader` is asked for one field after the other:
//
//   text(name)    a string or a view
//   number(name)
//   flag(name)
//   micros(name)  since 1970, zero if there is none; claim_until: on the store's clock
//   length(name)  of lock_ttl
template <class Reader>  // a FieldReader
JobRecord read_job(Reader& reader) {
  JobRecord job;
  each_field(job, [&](const char* name, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (words_of<Field> != 0) {
      const std::optional<Field> known = enumerator_named<Field>(reader.text(name));
      if (!known) reader.damage(name);
      // A state that nobody knows is final, but a person may retry or remove the job.
      constexpr auto unknown = std::is_same_v<Field, JobState> ? static_cast<Field>(JobState::dead) : Field{};
      field = known.value_or(unknown);
    } else if constexpr (std::is_same_v<Field, std::string>) {
      field = reader.text(name);
    } else if constexpr (std::is_same_v<Field, bool>) {
      field = reader.flag(name);
    } else if constexpr (std::is_same_v<Field, Millis>) {
      field = reader.length(name);
    } else if constexpr (std::is_same_v<Field, Micros>) {
      field = reader.micros(name);
    } else if constexpr (std::is_same_v<Field, Moment>) {
      field = Moment(reader.micros(name));
    } else if constexpr (std::is_same_v<Field, std::optional<Moment>>) {
      field = moment_or_none(reader.micros(name));
    } else if (std::string_view(name) == "limit") {
      const std::int64_t limit = reader.number(name);
      const bool known = 0 <= limit && limit <= largest_limit;
      if (!known) reader.damage(name);
      field = static_cast<Field>(known ? limit : 0);
    } else {
      field = static_cast<Field>(reader.number(name));
    }
  });
  job.damaged = reader.damaged();
  return job;
}

// Writes a field: calls text(name, view), number(name, int64), flag(name, bool), or moment(name, optional) of
// `writer`.
template <class Writer, class Field>
void write_field(Writer& writer, std::string_view name, const Field& field) {
  if constexpr (words_of<Field> != 0)
    writer.text(name, to_string(field));
  else if constexpr (std::is_same_v<Field, std::string>)
    writer.text(name, field);
  else if constexpr (std::is_same_v<Field, bool>)
    writer.flag(name, field);
  else if constexpr (std::is_same_v<Field, Millis>)
    writer.number(name, field.count());
  else if constexpr (std::is_same_v<Field, Micros> || std::is_same_v<Field, Moment>)
    writer.moment(name, std::optional(field));
  else if constexpr (std::is_same_v<Field, std::optional<Moment>>)
    writer.moment(name, field);
  else
    writer.number(name, static_cast<std::int64_t>(field));
}

}  // namespace holdfast::core
