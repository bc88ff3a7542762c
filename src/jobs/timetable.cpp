// SPDX-License-Identifier: Apache-2.0
#include "jobs/timetable.h"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/sync.h"
#include "base/text.h"
#include "holdfast/clock.h"

namespace holdfast::jobs {
namespace {

using namespace std::chrono_literals;

struct Field {
  const char* name;
  int least, most;
  std::vector<std::string_view> names;  // of `least`, `least` + 1, …
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
  std::vector<std::string_view> words;
  std::size_t from = 0;
  while (true) {
    const std::size_t end = text.find_first_of(by, from);
    words.push_back(text.substr(from, end - from));
    if (end == std::string_view::npos) return words;
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

// Adds a range like "1-5/2".  False: it is not valid.
template <class Bits>
bool add(Bits& bits, std::string_view range, const Field& field) {
  const auto stepped = split(range, "/");
  if (stepped.size() > 2) return false;
  int first = field.least, last = field.most, step = 1;
  if (stepped[0] != "*") {
    const auto ends = split(stepped[0], "-");
    const auto low = number_in(ends[0], field);
    const auto high = number_in(ends.back(), field);
    if (ends.size() > 2 || !low || !high || *low > *high) return false;
    first = *low;
    last = ends.size() == 1 && stepped.size() == 2 ? field.most : *high;
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

constexpr int days_to_search = 366 * 8;

// The zones are a static object of their library, and are destroyed when the process ends.  The schedule of a
// static Jobs, or one whose thread did not end in time, may read them even then.
class Zones {
 public:
  static const date::time_zone* find(std::string_view name) {
    const date::time_zone* const zone = date::locate_zone(std::string(name));
    static const End before_theirs;  // made after the zones, so destroyed before them
    return zone;
  }

  // While a Reading exists, the zones are not destroyed.  False: they were destroyed before.
  class Reading {
   public:
    Reading() { ++all().readers_; }
    ~Reading() { --all().readers_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    explicit operator bool() const { return !all().gone_; }
  };

 private:
  struct End {
    ~End() {
      all().gone_ = true;
      // A reader needs less than that.  In a child after fork() a reader may never end.
      const Instant enough = clamped_add(BootClock::now(), 1s);
      while (all().readers_ > 0 && BootClock::now() < enough) let_others_run();
    }
  };
  static Zones& all() {
    static Zones& never_destroyed = *new Zones;
    return never_destroyed;
  }

  std::atomic<int> readers_ = 0;
  std::atomic<bool> gone_ = false;
};

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
  auto words = split(line, " \t");
  std::erase(words, std::string_view());
  if (words.size() != fields.size()) return wrong("it has " + std::to_string(words.size()) + " fields");
  CronSpec spec;
  const auto fill = [&](auto& bits, std::size_t i) -> Status {
    for (const std::string_view range : split(words[i], ",")) {
      if (!add(bits, range, fields[i]))
        return wrong("\"" + printable(range) + "\" is not valid for the " + fields[i].name + " (" +
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
  spec.any_day_ = words[2].starts_with('*');
  spec.any_weekday_ = words[4].starts_with('*');
  return spec;
}

bool CronSpec::has_day(const CivilMinute& at) const {
  if (!months_.test(at.month)) return false;
  const bool day = days_.test(at.day), weekday = weekdays_.test(at.weekday);
  if (any_day_ || any_weekday_) return day && weekday;
  return day || weekday;
}

Result<Timetable> Timetable::make(std::string_view schedule, std::string_view zone) {
  auto spec = CronSpec::parse(schedule);
  if (!spec) return std::move(spec).error();
  try {
    return Timetable(*std::move(spec), Zones::find(zone));
  } catch (const std::runtime_error&) {
    return Error{Errc::invalid,
                 "\"" + printable(zone) +
                     "\" is not a time zone that this machine knows; write one like Europe/Berlin, or UTC"};
  }
}

std::optional<Second> Timetable::next(Second then) const {
  const Zones::Reading zones;
  if (!zones) return std::nullopt;
  const auto local = date::floor<date::days>(zone_->to_local(date::sys_seconds(then)));
  // From the day before: if an hour is skipped, its ticks may fall on another day.
  for (int i = -1; i <= days_to_search; ++i) {
    const date::local_days day = local + date::days(i);
    const date::year_month_day civil{day};
    const CivilMinute at{.year = int{civil.year()},
                         .month = unsigned{civil.month()},
                         .day = unsigned{civil.day()},
                         .weekday = date::weekday(day).c_encoding()};
    if (!spec_.has_day(at)) continue;
    std::optional<Second> first;
    const auto consider = [&](date::local_seconds moment, date::choose which) {
      const Second tick = zone_->to_sys(moment, which).time_since_epoch();
      if (tick > then && (!first || tick < *first)) first = tick;
    };
    for (int hour = 0; hour < 24; ++hour) {
      for (int minute = 0; minute < 60; ++minute) {
        if (!spec_.has_time(hour, minute)) continue;
        const date::local_seconds moment = day + std::chrono::hours(hour) + std::chrono::minutes(minute);
        consider(moment, date::choose::earliest);
        if (spec_.any_hour()) consider(moment, date::choose::latest);
      }
    }
    if (first) return first;
  }
  return std::nullopt;
}

}  // namespace holdfast::jobs
