// SPDX-License-Identifier: Apache-2.0
#include "cli/words/moment.h"

#include <string>

#include "base/text.h"
#include "base/url.h"

namespace holdfast::cli {
namespace {

// Reads a text from its front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool is_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  // Takes one of these characters.
  bool take(std::string_view any) {
    if (rest_.empty() || any.find(rest_[0]) == std::string_view::npos) return false;
    last_ = rest_[0];
    rest_.remove_prefix(1);
    return true;
  }
  char last() const { return last_; }
  // Takes exactly `digits` digits; false if the number is out of bounds.
  bool number(int digits, int least, int most, int& into) {
    into = 0;
    for (int i = 0; i < digits; ++i) {
      if (!is_digit()) return false;
      into = into * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return into >= least && into <= most;
  }
  // Takes the digits after the point, to the microsecond.
  Micros fraction() {
    Micros all{0};
    for (Micros digit{100'000}; is_digit(); digit /= 10) {
      all += (rest_[0] - '0') * digit;
      rest_.remove_prefix(1);
    }
    return all;
  }

 private:
  std::string_view rest_;
  char last_ = '\0';
};

}  // namespace

Result<Moment> parse_moment(std::string_view text) {
  using namespace std::chrono;
  const Error wrong{Errc::invalid, "\"" + printable(redacted(text)) +
                                       "\" is not a time; write it as 2026-11-15T02:00:00Z, or with the "
                                       "offset of a time zone, as 2026-11-15T03:00:00+01:00"};
  Reader reader(text);
  int y = 0, mon = 0, d = 0, h = 0, min = 0, s = 0;
  if (!reader.number(4, 1970, 9999, y) || !reader.take("-") || !reader.number(2, 1, 12, mon) ||
      !reader.take("-") || !reader.number(2, 1, 31, d) || !reader.take("Tt ") ||
      !reader.number(2, 0, 23, h) || !reader.take(":") || !reader.number(2, 0, 59, min) ||
      !reader.take(":") || !reader.number(2, 0, 60, s))
    return wrong;
  const year_month_day date{year(y), month(static_cast<unsigned>(mon)), day(static_cast<unsigned>(d))};
  if (!date.ok()) return wrong;
  Moment moment = sys_days(date) + hours(h) + minutes(min) + seconds(s);
  if (reader.take(".")) {
    if (!reader.is_digit()) return wrong;
    moment += reader.fraction();
  }
  if (reader.take("Zz")) return reader.at_end() ? Result<Moment>(moment) : wrong;
  if (!reader.take("+-")) return wrong;
  const int sign = reader.last() == '-' ? -1 : 1;
  if (!reader.number(2, 0, 23, h) || !reader.take(":") || !reader.number(2, 0, 59, min) || !reader.at_end())
    return wrong;
  return moment - sign * (hours(h) + minutes(min));
}

}  // namespace holdfast::cli
