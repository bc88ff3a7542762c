// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "holdfast/job_args.h"

namespace holdfast {
namespace {

using Value = nlohmann::ordered_json;

// A value in an error message; a long one is cut.
std::string shown(std::string_view json) {
  constexpr std::size_t longest = 60;
  return json.size() <= longest ? printable(json) : printable(json.substr(0, longest)) + "…";
}

// The parser would take a NUL as the end.
Value value_of(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return Value(Value::value_t::discarded);
  return Value::parse(text, nullptr, false);
}

Value parsed(std::string_view text) {
  check_json_depth(text, shown(text)).value();
  Value value = value_of(text);
  if (value.is_discarded()) throw_failure({Errc::invalid, "\"" + shown(text) + "\" is not valid JSON"});
  return value;
}

[[noreturn]] void is_no(std::string_view json, const char* what) {
  throw_failure({Errc::invalid, shown(json) + " is not " + what});
}

// In brackets it must be a list of one value.  Then it can neither end the list of arguments nor add to it.
void check_one_value(std::string_view text) {
  const std::string list = "[" + std::string(text) + "]";
  check_json_depth(list, shown(text)).value();
  const Value value = value_of(list);
  if (!value.is_array() || value.size() != 1) is_no(text, "one JSON value");
}

}  // namespace

namespace detail::json {

std::string of(bool value) { return value ? "true" : "false"; }
std::string of(std::int64_t value) { return std::to_string(value); }
std::string of(std::uint64_t value) { return std::to_string(value); }

std::string of(double value) {
  if (!std::isfinite(value))
    throw_failure({Errc::invalid, "a job's argument cannot be NaN or infinite; give a finite number"});
  return Value(value).dump();
}

std::string of(std::string_view value) {
  if (!is_utf8(value)) throw_failure({Errc::invalid, "\"" + shown(value) + "\" is not valid UTF-8"});
  return Value(value).dump();
}

std::string of(const Json& value) {
  check_one_value(value.text);
  return value.text;
}

bool is_null(std::string_view json) { return json == "null"; }

bool to_bool(std::string_view json) {
  if (json != "true" && json != "false") is_no(json, "true or false");
  return json == "true";
}

std::int64_t to_integer(std::string_view json, std::int64_t least, std::int64_t most) {
  const Value value = parsed(json);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    is_no(json, ("a whole number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
  return value.get<std::int64_t>();
}

std::uint64_t to_natural(std::string_view json, std::uint64_t most) {
  const Value value = parsed(json);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    is_no(json, ("a whole number from 0 to " + std::to_string(most)).c_str());
  return value.get<std::uint64_t>();
}

double to_double(std::string_view json) {
  const Value value = parsed(json);
  if (!value.is_number()) is_no(json, "a number");
  return value.get<double>();
}

std::string to_text(std::string_view json) {
  const Value value = parsed(json);
  if (!value.is_string()) is_no(json, "a string");
  return value.get<std::string>();
}

std::vector<std::string> items(std::string_view json) {
  const Value value = parsed(json);
  if (!value.is_array()) is_no(json, "a JSON array");
  std::vector<std::string> texts;
  for (const Value& item : value) texts.push_back(item.dump());
  return texts;
}

std::string list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

}  // namespace detail::json

Result<Args> Args::parse(std::string_view array) {
  try {
    Args args;
    args.items_ = detail::json::items(array);
    return args;
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Args Args::of_json(std::vector<std::string> values) {
  for (const std::string& value : values) check_one_value(value);
  Args args;
  args.items_ = std::move(values);
  return args;
}

void Args::require(std::size_t i) const {
  if (i < items_.size()) return;
  throw_failure({Errc::invalid, "argument " + std::to_string(i + 1) + " is missing: the job has " +
                                    std::to_string(items_.size())});
}

void Args::wrong(std::size_t i, const Error& why) {
  throw_failure({Errc::invalid, "argument " + std::to_string(i + 1) + ": " + why.detail});
}

}  // namespace holdfast
