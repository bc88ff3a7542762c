// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/statements.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <functional>

namespace holdfast::postgres {
namespace {

constexpr std::size_t not_kept = std::string::npos;
constexpr int binary = 1;

// Types as the catalogue numbers them, the same in every version.
constexpr std::uint32_t int8_type = 20, text_type = 25;

// An array: dimensions, whether it has NULLs, type, length, lower bound, then the elements.
constexpr std::size_t nulls_at = 4, length_at = 12, header = 20;

}  // namespace

void Parameters::put(std::uint32_t word) {
  const char bytes[] = {static_cast<char>(word >> 24), static_cast<char>(word >> 16),
                        static_cast<char>(word >> 8), static_cast<char>(word)};
  kept_.append(bytes, sizeof bytes);
}

void Parameters::patch(std::size_t at, std::uint32_t word) {
  for (int i = 0; i < 4; ++i)
    kept_[at + static_cast<std::size_t>(i)] = static_cast<char>(word >> (24 - 8 * i));
}

Parameters& Parameters::text(std::string_view value) {
  assert(count_ < most);
  const auto i = static_cast<std::size_t>(count_++);
  values_[i] = value.data() == nullptr ? "" : value.data();
  starts_[i] = not_kept;
  lengths_[i] = static_cast<int>(value.size());
  formats_[i] = binary;
  return *this;
}

Parameters& Parameters::nothing() {
  text({});
  values_[static_cast<std::size_t>(count_ - 1)] = nullptr;
  return *this;
}

Parameters& Parameters::number(std::int64_t value) {
  text({});
  const auto i = static_cast<std::size_t>(count_ - 1);
  starts_[i] = kept_.size();
  lengths_[i] = 8;
  put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32));
  put(static_cast<std::uint32_t>(value));
  return *this;
}

Parameters& Parameters::number(std::optional<std::int64_t> value) {
  return value ? number(*value) : nothing();
}

Parameters& Parameters::flag(bool value) {
  return text(value ? std::string_view("\1", 1) : std::string_view("\0", 1));
}

void Parameters::begin_array(std::uint32_t element_type) {
  text({});
  const auto i = static_cast<std::size_t>(count_ - 1);
  starts_[i] = kept_.size();
  lengths_[i] = header;
  for (const std::uint32_t word : {1U, 0U, element_type, 0U, 1U}) put(word);
}

Parameters& Parameters::texts() {
  begin_array(text_type);
  return *this;
}
Parameters& Parameters::numbers() {
  begin_array(int8_type);
  return *this;
}

void Parameters::grow_array() {
  const auto i = static_cast<std::size_t>(count_ - 1);
  const std::size_t at = starts_[i] + length_at;
  std::uint32_t length = 0;
  for (std::size_t k = 0; k < 4; ++k) length = length << 8 | static_cast<unsigned char>(kept_[at + k]);
  patch(at, length + 1);
  lengths_[i] = static_cast<int>(kept_.size() - starts_[i]);
}

void Parameters::add(std::string_view element) {
  put(static_cast<std::uint32_t>(element.size()));
  kept_.append(element);
  grow_array();
}

void Parameters::add(std::optional<std::int64_t> element) {
  if (element) {
    put(8);
    put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(*element) >> 32));
    put(static_cast<std::uint32_t>(*element));
  } else {
    put(0xffffffffU);
    patch(starts_[static_cast<std::size_t>(count_ - 1)] + nulls_at, 1);
  }
  grow_array();
}

const char* const* Parameters::values() noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    if (starts_[i] != not_kept) values_[i] = kept_.data() + starts_[i];
  }
  return values_.data();
}

std::string_view Answer::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::number(int row, int column) const noexcept {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::optional<Micros> Answer::moment(int row, int column) const noexcept {
  if (is_null(row, column)) return std::nullopt;
  return Micros(std::max<std::int64_t>(number(row, column), 0));
}

// Named by what it says: behind a pooler that we do not notice, a name may have been given by somebody with
// another table.
Statement& Statements::operator[](Sql sql) {
  std::optional<Statement>& known = known_[static_cast<std::size_t>(sql)];
  if (!known) {
    std::string text = tables_.expand(postgres::text(sql));
    const std::size_t hash = std::hash<std::string>()(text);
    known = Statement{"holdfast_" + std::string(name(sql)) + "_" + std::to_string(hash), std::move(text)};
  }
  return *known;
}

}  // namespace holdfast::postgres
