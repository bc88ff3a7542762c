// SPDX-License-Identifier: Apache-2.0
// parameters.h - what goes with a statement, in PostgreSQL's binary form: nothing to quote, nothing to copy
// twice.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::postgres {

// Values for $1, $2 … in order.  Texts are not copied: they must outlive the call.
class Parameters {
 public:
  static constexpr int most = 17;

  void clear() noexcept {
    count_ = 0;
    kept_.clear();
  }

  Parameters& text(std::string_view value);
  Parameters& number(std::int64_t value);
  Parameters& number(std::optional<std::int64_t> value);  // none: NULL
  Parameters& flag(bool value);
  Parameters& nothing();  // NULL

  // Arrays: begin, then each element, of one kind.
  Parameters& texts();
  Parameters& numbers();
  void add(std::string_view element);
  void add(std::optional<std::int64_t> element);

  int count() const noexcept { return count_; }
  // As libpq takes them.  Valid until the next change.
  const char* const* values() noexcept;
  const int* lengths() const noexcept { return lengths_.data(); }
  const int* formats() const noexcept { return formats_.data(); }

 private:
  void begin_array(std::uint32_t element_type);
  void put(std::uint32_t word);
  void patch(std::size_t at, std::uint32_t word);
  void grow_array();

  int count_ = 0;
  std::array<const char*, most> values_{};
  std::array<std::size_t, most> starts_{};  // in kept_; npos: values_ says it
  std::array<int, most> lengths_{}, formats_{};
  std::string kept_;
};

}  // namespace holdfast::postgres
