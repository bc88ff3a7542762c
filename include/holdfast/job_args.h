// SPDX-License-Identifier: Apache-2.0
// job_args.h - the arguments of a job: a JSON array, given and taken as C++ values.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"

namespace holdfast {

// One JSON value, as text: for an argument that is a list or an object.  It may be nested 100 levels deep,
// including the list of arguments.
struct Json {
  std::string text;
  bool operator==(const Json&) const = default;
};

// Everything in detail may change with every release.
namespace detail::json {

HOLDFAST_API std::string of(bool value);
HOLDFAST_API std::string of(std::int64_t value);
HOLDFAST_API std::string of(std::uint64_t value);
HOLDFAST_API std::string of(double value);  // throws Failure for NaN and infinity
HOLDFAST_API std::string of(std::string_view value);
HOLDFAST_API std::string of(const Json& value);  // throws Failure unless it is one value

// Each throws Failure (Errc::invalid) if the value has another type.
HOLDFAST_API bool is_null(std::string_view json);
HOLDFAST_API bool to_bool(std::string_view json);
HOLDFAST_API std::int64_t to_integer(std::string_view json, std::int64_t least, std::int64_t most);
HOLDFAST_API std::uint64_t to_natural(std::string_view json, std::uint64_t most);
HOLDFAST_API double to_double(std::string_view json);
HOLDFAST_API std::string to_text(std::string_view json);
HOLDFAST_API std::vector<std::string> items(std::string_view json);
HOLDFAST_API std::string list(const std::vector<std::string>& items);

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};

// Types that can become a part of a key without an identifier().
template <class T>
struct is_scalar : std::bool_constant<std::is_arithmetic_v<T> || std::convertible_to<T, std::string_view> ||
                                      std::same_as<T, std::nullptr_t>> {};
template <class T>
struct is_scalar<std::optional<T>> : is_scalar<T> {};

template <class T>
std::string from(const T& value) {
  if constexpr (std::same_as<T, Json>) {
    return of(value);
  } else if constexpr (std::same_as<T, std::nullptr_t>) {
    return "null";
  } else if constexpr (is_optional<T>::value) {
    return value ? from(*value) : "null";
  } else if constexpr (is_vector<T>::value) {
    std::vector<std::string> texts;
    for (const auto& item : value) texts.push_back(from(item));
    return list(texts);
  } else if constexpr (std::same_as<T, bool>) {
    return of(value);
  } else if constexpr (std::unsigned_integral<T>) {
    return of(static_cast<std::uint64_t>(value));
  } else if constexpr (std::integral<T>) {
    return of(static_cast<std::int64_t>(value));
  } else if constexpr (std::floating_point<T>) {
    return of(static_cast<double>(value));
  } else {
    static_assert(std::convertible_to<T, std::string_view>,
                  "an argument of a job is a bool, a number, a text, an optional or a vector of these, or a "
                  "holdfast::Json");
    return of(std::string_view(value));
  }
}

template <class T>
T to(std::string_view text) {
  if constexpr (std::same_as<T, Json>) {
    return Json{std::string(text)};
  } else if constexpr (is_optional<T>::value) {
    return is_null(text) ? T() : T(to<typename T::value_type>(text));
  } else if constexpr (is_vector<T>::value) {
    T values;
    for (const std::string& item : items(text)) values.push_back(to<typename T::value_type>(item));
    return values;
  } else if constexpr (std::same_as<T, bool>) {
    return to_bool(text);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(to_natural(text, std::numeric_limits<T>::max()));
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(to_integer(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(to_double(text));
  } else {
    static_assert(
        std::same_as<T, std::string>,
        "perform() takes bool, numbers, std::string, optionals and vectors of these, or holdfast::Json");
    return to_text(text);
  }
}

}  // namespace detail::json

class HOLDFAST_API Args {
 public:
  Args() = default;
  // Errc::invalid unless it is a JSON array of at most 100 levels.
  static Result<Args> parse(std::string_view array);
  // Throws Failure (Errc::invalid) for a text that is not UTF-8, a Json that is not one JSON value, and for
  // infinity and NaN.
  template <class... T>
  static Args of(const T&... values) {
    Args args;
    (args.items_.push_back(detail::json::from(values)), ...);
    return args;
  }
  // Each one JSON value; throws Failure (Errc::invalid) otherwise.
  static Args of_json(std::vector<std::string> values);

  std::size_t size() const noexcept { return items_.size(); }
  // As JSON.
  const std::string& operator[](std::size_t i) const { return items_.at(i); }
  // Throws Failure (Errc::invalid), which names the argument, if it is missing or has another type.
  template <class T>
  T get(std::size_t i) const {
    require(i);
    try {
      return detail::json::to<T>(items_[i]);
    } catch (const Failure& failure) {
      wrong(i, failure.error());
    }
  }
  // The array.
  std::string text() const { return detail::json::list(items_); }

 private:
  void require(std::size_t i) const;
  [[noreturn]] static void wrong(std::size_t i, const Error& why);

  std::vector<std::string> items_;
};

}  // namespace holdfast
