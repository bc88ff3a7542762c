// SPDX-License-Identifier: Apache-2.0
#include "cli/store_url.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/url.h"
#include "cli/output.h"
#include "holdfast/sqlite.h"

namespace holdfast::cli {
namespace {

// Over the old text, in place: the system shows the memory itself, and it cannot grow.
void overwrite(char* text, std::size_t size, const std::string& with) {
  std::memset(text, 0, size);
  std::copy_n(with.data(), std::min(with.size(), size), text);
}

// A path may hold ? and %, which mean something in a URL.
std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) out += c == '%' ? "%25" : c == '?' ? "%3F" : std::string(1, c);
  return out;
}

}  // namespace

std::string store_url(const std::string& given) {
  if (!given.empty()) return given;
  const char* const from_environment = ::secure_getenv("HOLDFAST_STORE");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  return "sqlite:" + percent_encoded(sqlite::default_path());
}

void hide_password(const std::string& given, std::span<char* const> argv) {
  const std::string hidden = redacted(given);
  if (hidden == given) return;
  for (char* const word : argv) {
    // --store URL, or --store=URL
    const std::string_view text(word);
    if (text.ends_with(given)) overwrite(word + (text.size() - given.size()), given.size(), hidden);
  }
  complain(
      "--store holds a password, which others could read in the list of processes until now: put the URL "
      "into HOLDFAST_STORE instead");
}

}  // namespace holdfast::cli
