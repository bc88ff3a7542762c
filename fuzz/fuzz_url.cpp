// SPDX-License-Identifier: Apache-2.0
// The address of a store, from anybody.
#include <algorithm>

#include "base/text.h"
#include "base/url.h"
#include "fuzz/target.h"

namespace {

using namespace holdfast;
using fuzz::require;

std::string encoded(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', hex[byte >> 4], hex[byte & 15]};
  }
  return out;
}

bool is_sentence(const std::string& text) { return is_utf8(text) && printable(text) == text; }

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto url = parse_url(text);
  if (!url) {
    require(url.error().code == Errc::invalid, "a bad URL is the caller's mistake");
    require(is_sentence(url.error().detail), "an error is fit for a terminal", url.error().detail);
    return 0;
  }
  // Written out again it means the same.
  std::string again = url->scheme + ":" + url->rest;
  char mark = '?';
  for (const auto& [name, value] : url->parameters) {
    again += mark + encoded(name) + "=" + encoded(value);
    mark = '&';
  }
  const auto same = parse_url(again);
  require(
      same && same->scheme == url->scheme && same->rest == url->rest && same->parameters == url->parameters,
      "a URL that is written out again is the same", again);
  const auto decoded = percent_decoded(url->rest);
  require(!decoded || std::count(decoded->begin(), decoded->end(), '\0') ==
                          std::count(url->rest.begin(), url->rest.end(), '\0'),
          "decoding makes no NUL");
  return 0;
}
