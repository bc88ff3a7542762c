// SPDX-License-Identifier: Apache-2.0
// Keys, and showing text of unknown origin.
#include <algorithm>

#include "base/text.h"
#include "core/check.h"
#include "fuzz/target.h"

namespace {

using namespace holdfast;
using fuzz::require;

int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// \xNN becomes the byte again.  Good for texts that hold no backslash of their own.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size();
    out.push_back(escape ? static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3])) : text[i]);
    if (escape) i += 3;
  }
  return out;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::string shown = printable(text);
  require(is_utf8(shown), "what is shown is UTF-8");
  require(std::none_of(shown.begin(), shown.end(), is_control), "no control character survives", shown);
  require(printable(shown) == shown, "what is shown is shown as it is", shown);
  if (text.find('\\') == std::string_view::npos) {
    require(unescaped(shown) == text, "nothing is lost or confused", shown);
  }

  const Status key = check_key(text);
  const bool good =
      !text.empty() && text.size() <= 512 && is_utf8(text) && text.find('\0') == std::string_view::npos;
  require(key.has_value() == good, "a key is 1 to 512 bytes of UTF-8 without NUL");
  require(check_owner(text).has_value() == good, "and so is an owner");
  if (!key) {
    const std::string& detail = key.error().detail;
    require(key.error().code == Errc::invalid && is_utf8(detail) && printable(detail) == detail &&
                detail.size() < 400,
            "an error is one short sentence, fit for a terminal", detail);
  }
  return 0;
}
