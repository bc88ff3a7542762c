// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/secrets.h"

#include <sys/prctl.h>

#include <algorithm>

#include "base/url.h"
#include "cli/output.h"

namespace holdfast::cli {

bool has_secret(const std::string& url) { return redacted(url) != url; }

void keep_secret(const std::string& url) {
  if (!has_secret(url)) return;
  ::prctl(PR_SET_DUMPABLE, 0);
  // What the drivers say about their URL goes through our output too.
  for (const std::string& secret : secrets_in(url)) hide_secret(secret);
}

void keep_password_secret(const std::string& password) {
  if (password.empty()) return;
  ::prctl(PR_SET_DUMPABLE, 0);
  hide_secret(password);
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', hex[byte / 16], hex[byte % 16]};
  }
  return out;
}

std::string with_password(const std::string& url, std::string_view password) {
  const std::size_t from = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?", from), url.size());
  const std::size_t at = url.rfind('@', end);
  const bool has_user = at != std::string::npos && at >= from && at < end;
  const bool has_colon = has_user && at > from && url[at - 1] == ':';  // an empty password
  std::string out = url;
  out.insert(has_user ? at : from,
             (has_colon ? "" : ":") + percent_encoded(password) + (has_user ? "" : "@"));
  return out;
}

}  // namespace holdfast::cli
