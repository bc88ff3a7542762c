// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <charconv>
#include <cmath>
#include <ctime>

#include "base/text.h"
#include "base/url.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_duration = 24h * 36525;  // 100 years

struct Unit {
  std::string_view name;
  Millis length;
};
constexpr Unit units[] = {{"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"h", 1h}, {"d", 24h}};

Error bad(std::string_view text, const std::string& why) {
  return {Errc::invalid, "\"" + printable(redacted(text)) + "\" is not a duration: " + why +
                             "; write 250ms, 30s, 5m, 1.5h or 2d"};
}

// The largest unit that fits, and the next smaller one.
std::string in_two_units(Millis d, const Unit& large, const Unit& small) {
  const auto whole = d / large.length;
  const auto rest = (d % large.length) / small.length;
  std::string text = std::to_string(whole) + std::string(large.name);
  if (rest != 0) text += " " + std::to_string(rest) + std::string(small.name);
  return text;
}

}  // namespace

Millis time_until(std::chrono::sys_time<std::chrono::nanoseconds> moment) noexcept {
  return std::chrono::floor<Millis>(std::chrono::floor<Micros>(moment) - wall_now());
}

std::string format_wall(Moment moment) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%F %TZ", &parts);
  return std::string(text, length);
}

Result<Millis> parse_duration(std::string_view text) {
  if (text.empty()) return bad(text, "it is empty");
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure == std::errc::result_out_of_range) {
    const bool tiny = text.substr(0, text.find('.')).find_first_not_of("-0") == std::string_view::npos;
    return bad(text, tiny ? "it is shorter than a millisecond" : "it is longer than 100 years");
  }
  if (failure != std::errc{} || !std::isfinite(number)) return bad(text, "it does not start with a number");
  if (std::signbit(number)) return bad(text, "it is negative");
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (suffix.empty()) {
    // Other programs (flock, timeout, sleep) take a bare number as seconds.
    const std::string seconds = std::string(text) + "s";
    return bad(text,
               "it has no unit" + (parse_duration(seconds) ? ": in seconds it would be " + seconds : ""));
  }
  for (const Unit& unit : units) {
    if (suffix != unit.name) continue;
    const double millis = number * static_cast<double>(unit.length.count());
    if (millis > static_cast<double>(longest_duration.count()))
      return bad(text, "it is longer than 100 years");
    const Millis rounded(std::llround(millis));
    if (rounded == 0ms && number > 0) return bad(text, "it is shorter than a millisecond");
    return rounded;
  }
  return bad(text, "the unit is unknown");
}

std::string format_duration(Millis d) {
  if (d == never) return "never";
  if (d < 1s) return std::to_string(d.count()) + "ms";
  if (d < 1min) {
    const auto tenths = d.count() / 100;
    const std::string whole = std::to_string(tenths / 10);
    return tenths % 10 == 0 ? whole + "s" : whole + "." + std::to_string(tenths % 10) + "s";
  }
  if (d < 1h) return in_two_units(d, units[2], units[1]);
  if (d < 24h) return in_two_units(d, units[3], units[2]);
  return in_two_units(d, units[4], units[3]);
}

}  // namespace holdfast
