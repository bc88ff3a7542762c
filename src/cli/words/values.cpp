// SPDX-License-Identifier: Apache-2.0
#include "cli/words/values.h"

#include <limits>

#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "core/check.h"
#include "core/terms.h"

namespace holdfast::cli {

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

Millis ttl_of(const char* option, const Text& given) {
  if (!given) return core::Terms{}.ttl;
  if (*given == "never") return Millis(never);
  const Millis ttl = duration(option, *given);
  if (Status s = core::check_ttl(ttl); !s)
    refuse(std::string(option) + " " + *given + ": " + s.error().detail);
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

std::string key_of(const Given& given) {
  const Text key = given.word(0);
  if (!key) refuse("KEY is missing; usage: " + usage_of(*given.command));
  core::check_key(*key).value();
  return *key;
}

std::string owner_of(const Given& given) {
  const Text owner = given.text("--owner");
  if (!owner) refuse("--owner is missing; usage: " + usage_of(*given.command));
  core::check_owner(*owner).value();
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
    core::check_owner(*owner).value();
    options.owner = *owner;
  }
  core::check_terms(core::settle(options, {}), {}).value();
  return options;
}

}  // namespace holdfast::cli
