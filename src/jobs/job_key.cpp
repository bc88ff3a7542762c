// SPDX-License-Identifier: Apache-2.0
// The key of a job's lock, letter by letter as active_job_lock makes it.
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "core/check.h"
#include "holdfast/job.h"

namespace holdfast {
namespace {

using KeyValue = nlohmann::json;

// As Ruby writes a Float: the shortest digits that read back as the same number, always with a fraction; with
// an exponent below 0.0001 and from 1e16 on.
std::string ruby_float(double value) {
  std::array<char, 64> text{};
  const auto write = [&](std::chars_format format) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format).ptr;
    return std::string(text.data(), end);
  };
  const double size = value < 0 ? -value : value;
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::string digits = write(plain ? std::chars_format::fixed : std::chars_format::scientific);
  const std::size_t exponent = digits.find('e');
  if (digits.find('.') == std::string::npos) digits.insert(std::min(exponent, digits.size()), ".0");
  return digits;
}

Result<std::string> joined(std::string_view name, const Args& args) {
  std::string identifier;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i > 0) identifier += '-';
    const KeyValue value = KeyValue::parse(args[i], nullptr, false);
    if (value.is_string()) {
      identifier += value.get<std::string>();
    } else if (value.is_number_float()) {
      identifier += ruby_float(value.get<double>());
    } else if (value.is_structured() || value.is_discarded()) {
      return Error{Errc::invalid,
                   "argument " + std::to_string(i + 1) + " of " + printable(name) +
                       " is a list or an object, which makes no key; give the job an identifier"};
    } else if (!value.is_null()) {
      identifier += args[i];
    }
  }
  return identifier;
}

}  // namespace

Result<std::string> job_key(std::string_view name, const JobOptions& options, const Args& args) {
  std::string key;
  if (options.lock_key) {
    key = options.lock_key(args);
  } else {
    key = "lock:" + std::string(name);
    std::optional<std::string> identifier;
    if (options.identifier) {
      identifier = options.identifier(args);
    } else {
      auto text = joined(name, args);
      if (!text) return text;
      identifier = *std::move(text);
    }
    if (identifier) key += ":" + *identifier;
  }
  if (Status s = core::check_key(key); !s) return std::move(s).error();
  return key;
}

}  // namespace holdfast
