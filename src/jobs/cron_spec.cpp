// SPDX-License-Identifier: Apache-2.0
#include "jobs/cron_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace holdfast::jobs {
namespace {

struct Field {
  const char* name;
  int least, most;
  std::vector<std::string_view> names;  // of `least`, and on
};

const std::array<Field, 5> fields{{
    {"minute", 0, 59, {}},
    {"hour", 0, 23, {}},
    {"day", 1, 31, {}},
    {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
    {"weekday", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}};

constexpr std::pair<std::string_view, std::string_view> shorthands[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  while (true) {
    const std::size_t end = text.find_first_of(by, from);
    parts.push_back(text.substr(from, end - from));
    if (end == std::string_view::npos) return parts;
    from = end + 1;
  }
}

std::optional<int> number_in(std::string_view text, const Field& field) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (value < field.least || value > field.most) return std::nullopt;
    return value;
  }
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::find(field.names.begin(), field.names.end(), lower);
  if (found == field.names.end()) return std::nullopt;
  return field.least + static_cast<int>(found - field.names.begin());
}

// "1-5/2" and the like.  False: it means nothing.
template <class Bits>
bool add(Bits& bits, std::string_view part, const Field& field) {
  const auto stepped = split(part, "/");
  if (stepped.size() > 2) return false;
  int first = field.least, last = field.most, step = 1;
  if (stepped[0] != "*") {
    const auto range = split(stepped[0], "-");
    const auto low = number_in(range[0], field);
    const auto high = number_in(range.back(), field);
    if (range.size() > 2 || !low || !high || *low > *high) return false;
    first = *low;
    last = range.size() == 1 && stepped.size() == 2 ? field.most : *high;
  }
  if (stepped.size() == 2) {
    const Field any{"step", 1, field.most + 1, {}};
    const auto given = number_in(stepped[1], any);
    if (!given) return false;
    step = *given;
  }
  for (int i = first; i <= last; i += step) bits.set(static_cast<std::size_t>(i));
  return true;
}

}  // namespace

Result<CronSpec> CronSpec::parse(std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return Error{Errc::invalid, "\"" + printable(text) + "\" is not a schedule: " + why +
                                    "; write five fields as in a crontab, like \"0 2 * * *\""};
  };
  std::string_view line = text;
  for (const auto& [name, meaning] : shorthands) {
    if (text == name) line = meaning;
  }
  auto parts = split(line, " \t");
  std::erase(parts, std::string_view());
  if (parts.size() != fields.size()) return wrong("it has " + std::to_string(parts.size()) + " fields");
  CronSpec spec;
  const auto fill = [&](auto& bits, std::size_t i) -> Status {
    for (const std::string_view part : split(parts[i], ",")) {
      if (!add(bits, part, fields[i]))
        return wrong("\"" + printable(part) + "\" is not valid for the " + fields[i].name + " (" +
                     std::to_string(fields[i].least) + " to " + std::to_string(fields[i].most) + ")");
    }
    return Status{};
  };
  if (Status s = fill(spec.minutes_, 0); !s) return std::move(s).error();
  if (Status s = fill(spec.hours_, 1); !s) return std::move(s).error();
  if (Status s = fill(spec.days_, 2); !s) return std::move(s).error();
  if (Status s = fill(spec.months_, 3); !s) return std::move(s).error();
  if (Status s = fill(spec.weekdays_, 4); !s) return std::move(s).error();
  if (spec.weekdays_.test(7)) spec.weekdays_.set(0);
  spec.any_day_ = parts[2].starts_with('*');
  spec.any_weekday_ = parts[4].starts_with('*');
  return spec;
}

bool CronSpec::has_day(const CivilMinute& at) const {
  if (!months_.test(at.month)) return false;
  const bool day = days_.test(at.day), weekday = weekdays_.test(at.weekday);
  if (any_day_ || any_weekday_) return day && weekday;
  return day || weekday;
}

}  // namespace holdfast::jobs
