// SPDX-License-Identifier: Apache-2.0
#include "cli/words/values.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "holdfast/check.h"

namespace holdfast::cli {
namespace {

// Reads a text from its front.
class MomentReader {
 public:
  explicit MomentReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool is_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  // Takes one of these characters.
  bool take(std::string_view any) {
    if (rest_.empty() || any.find(rest_[0]) == std::string_view::npos) return false;
    last_ = rest_[0] == '-' || rest_[0] == '+' ? rest_[0] : last_;
    rest_.remove_prefix(1);
    return true;
  }
  int sign() const { return last_ == '-' ? -1 : 1; }  // of the last + or - that was taken
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

void refuse(std::string sentence) { throw_failure({Errc::invalid, std::move(sentence)}); }

std::string shown(const std::string& word) { return "\"" + printable(redacted(word)) + "\""; }

std::string one_of_these(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

Millis duration(const char* option, const std::string& given) {
  auto parsed = parse_duration(given);
  // The word may have been meant for another option, as the URL of a store.
  if (!parsed) refuse(std::string(option) + ": " + parse_duration(redacted(given)).error().detail);
  return *parsed;
}

Millis some_duration(const char* option, const std::string& given) {
  const Millis length = duration(option, given);
  if (length == Millis::zero())
    refuse(std::string(option) + " " + printable(given) + " is too short; give a longer time");
  return length;
}

Moment moment_of(const char* option, const std::string& given) {
  using namespace std::chrono;
  const auto check = [&](bool valid) {
    if (!valid)
      refuse(std::string(option) + ": " + shown(given) +
             " is not a time; write it as 2026-11-15T02:00:00Z, or with the offset of a time zone, as "
             "2026-11-15T03:00:00+01:00");
  };
  MomentReader reader(given);
  int y = 0, mon = 0, d = 0, h = 0, min = 0, s = 0;
  check(reader.number(4, 1970, 9999, y) && reader.take("-") && reader.number(2, 1, 12, mon) &&
        reader.take("-") && reader.number(2, 1, 31, d) && reader.take("Tt ") && reader.number(2, 0, 23, h) &&
        reader.take(":") && reader.number(2, 0, 59, min) && reader.take(":") && reader.number(2, 0, 60, s));
  const year_month_day date{year(y), month(static_cast<unsigned>(mon)), day(static_cast<unsigned>(d))};
  check(date.ok());
  Moment moment = sys_days(date) + hours(h) + minutes(min) + seconds(s);
  if (reader.take(".")) {
    check(reader.is_digit());
    moment += reader.fraction();
  }
  h = min = 0;
  check(reader.take("Zz") || (reader.take("+-") && reader.number(2, 0, 23, h) && reader.take(":") &&
                              reader.number(2, 0, 59, min)));
  check(reader.at_end());
  return moment - (reader.sign() * (hours(h) + minutes(min)));
}

Millis ttl_of(const char* option, const Text& given) {
  if (!given) return std::chrono::seconds(30);  // as AcquireOptions::ttl
  if (*given == "never") return Millis(never);
  const Millis ttl = duration(option, *given);
  if (Status s = check_ttl(ttl); !s) refuse(std::string(option) + " " + *given + ": " + s.error().detail);
  return ttl;
}

Token token_of(const char* option, const std::string& given, const char* where) {
  const auto token = whole_number<std::uint64_t>(given);
  if (!token || *token == 0 || *token > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    refuse(option + shown(given) + " is not a token; give the number that " + where);
  return Token{*token};
}

int number_of(const Given& given, const char* option, Range range, int otherwise) {
  const Text text = given.text(option);
  if (!text) return otherwise;
  const auto number = whole_number<int>(*text);
  if (!number || *number < range.least || *number > range.most)
    refuse(std::string(option) + " " + shown(*text) + " is invalid; give a whole number from " +
           std::to_string(range.least) + " to " + std::to_string(range.most));
  return *number;
}

std::size_t choice_of(const Given& given, const char* option, const char* wrong) {
  const std::string text = given.text(option).value_or("");
  const Words known = find_option(*given.command, option)->choices();
  const auto found = std::find(known.begin(), known.end(), text);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  refuse(std::string(option) + " " + shown(text) + wrong + suggestion(text, known) + "give " +
         one_of_these(known));
}

std::string key_of(const Given& given) {
  const Text key = given.word(0);
  if (!key) refuse("KEY is missing; usage: " + usage_of(*given.command));
  check_key(*key).value();
  return *key;
}

std::string owner_of(const Given& given) {
  const Text owner = given.text("--owner");
  if (!owner) refuse("--owner is missing; usage: " + usage_of(*given.command));
  check_owner(*owner).value();
  return *owner;
}

Wait wait_of(const Given& given) {
  const bool no_wait = given.flag("--nonblock");
  const Text text = given.text("--wait");
  if (no_wait && text)
    refuse("-n and -w " + printable(redacted(*text)) + " exclude each other; give one of them");
  if (no_wait) return Millis::zero();
  if (!text || *text == "forever") return forever;
  const Millis wait = duration("-w", *text);
  if (wait == Millis::zero()) refuse("-w " + *text + " would not wait at all; give -n, or a longer time");
  return wait;
}

Millis interval_of(const Given& given) {
  constexpr Millis shortest(100);
  const Text text = given.text("--interval");
  if (!text) return std::chrono::seconds(1);
  const Millis interval = duration("--interval", *text);
  if (interval < shortest)
    refuse("--interval " + printable(*text) + " would ask the store too often; give 100ms or more");
  return interval;
}

AcquireOptions acquire_options_of(const Given& given) {
  AcquireOptions options{.ttl = ttl_of("--ttl", given.text("--ttl")),
                         .wait = wait_of(given),
                         .note = given.text("--note").value_or("")};
  if (const Text owner = given.text("--owner")) {
    check_owner(*owner).value();
    options.owner = *owner;
  }
  check_options(options).value();
  return options;
}

}  // namespace holdfast::cli
