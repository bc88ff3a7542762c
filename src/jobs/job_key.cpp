// SPDX-License-Identifier: Apache-2.0
// The key of a job's lock: exactly as active_job_lock makes it, or in a form that distinguishes all
// arguments.
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

// Whether the text cannot be confused with another value, with several values, or with a part of the name
// before it.
bool is_plain(std::string_view text) {
  const bool is_word = text == "null" || text == "true" || text == "false";
  const bool is_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return !text.empty() && !is_word && !is_number && text.find_first_of("-:\"\\") == std::string_view::npos;
}

// REQUIRES: it is neither a list nor an object.
std::string word_of(const KeyValue& value, JobKeyForm form) {
  if (value.is_number_float()) return ruby_float(value.get<double>());
  if (value.is_null() && form == JobKeyForm::joined) return "";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return form == JobKeyForm::joined || is_plain(text) ? text : value.dump();
}

Result<std::string> identifier_of(std::string_view name, const Args& args, JobKeyForm form) {
  std::string identifier;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const KeyValue value = KeyValue::parse(args[i], nullptr, false);
    if (value.is_structured() || value.is_discarded())
      return Error{Errc::invalid, "cannot make a key for the job " + printable(name) + ": argument " +
                                      std::to_string(i + 1) +
                                      " is a list or an object; give the job an identifier"};
    identifier += (i > 0 ? "-" : "") + word_of(value, form);
  }
  return identifier;
}

}  // namespace

Result<std::string> job_key(std::string_view name, const JobOptions& options, const Args& args,
                            JobKeyForm form) {
  std::string key;
  if (options.lock_key) {
    key = options.lock_key(args);
  } else {
    key = "lock:" + std::string(name);
    std::optional<std::string> identifier;
    if (options.identifier) {
      identifier = options.identifier(args);
    } else {
      auto text = identifier_of(name, args, form);
      if (!text) return text;
      identifier = *std::move(text);
    }
    if (identifier) key += ":" + *identifier;
  }
  if (Status s = check_key(key); !s) return std::move(s).error();
  return key;
}

}  // namespace holdfast
