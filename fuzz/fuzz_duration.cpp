// SPDX-License-Identifier: Apache-2.0
// A length of time, as anybody may write it.
#include "base/text.h"
#include "base/time.h"
#include "fuzz/target.h"

using namespace holdfast;
using fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto duration = parse_duration(text);
  if (!duration) {
    require(duration.error().code == Errc::invalid, "a bad duration is the caller's mistake");
    require(is_utf8(duration.error().detail) && printable(duration.error().detail) == duration.error().detail,
            "an error is fit for a terminal", duration.error().detail);
    return 0;
  }
  require(*duration >= Millis::zero() && *duration <= std::chrono::hours(24 * 36525),
          "between 0 and 100 years");
  const auto exact = parse_duration(std::to_string(duration->count()) + "ms");
  require(exact && *exact == *duration, "milliseconds written out are the same");
  // For people it is cut to two units, never more than it was.
  const std::string shown = format_duration(*duration);
  require(!shown.empty() && printable(shown) == shown, "shown as plain text", shown);
  if (shown.find(' ') == std::string::npos) {
    const auto read = parse_duration(shown);
    require(read && *read <= *duration, "what is shown can be given, and promises no more", shown);
  }
  return 0;
}
