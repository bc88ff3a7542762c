// SPDX-License-Identifier: Apache-2.0
// The input makes an address around a password, and is that password's neighbourhood; the password itself
// must not be in what is shown.
#include <string>

#include "base/text.h"
#include "base/url.h"
#include "fuzz/target.h"

namespace {

using namespace holdfast;
using fuzz::require;

constexpr std::string_view canary = "c4n4ry";

std::string encoded(std::string_view text) {
  static constexpr char hex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) out += {'%', hex[static_cast<unsigned char>(c) >> 4], hex[c & 15]};
  return out;
}

void require_hidden(const std::string& url) {
  const std::string shown = redacted(url);
  require(shown.find(canary) == std::string::npos, "the password is hidden", shown);
  require(shown.find(encoded(canary)) == std::string::npos, "also percent-encoded", shown);
  const auto parsed = parse_url(url);
  if (!parsed) {
    require(parsed.error().detail.find(canary) == std::string::npos, "an error hides it too",
            parsed.error().detail);
  }
  require(redacted(shown).find(canary) == std::string::npos, "twice is no worse");
}

}  // namespace

// PART \0 PART \0 PART: user, what stands before and behind the canary in the password, host and the rest.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string part[5];
  std::size_t at = 0;
  for (const char c : fuzz::text_of(data, size)) {
    if (c == '\0' && at < 4) {
      ++at;
    } else if (c != '\0') {
      part[at].push_back(c);
    }
  }
  std::string user = part[0];
  // A : ends the user's name, and an @ before it is a mistake that has no right reading.
  std::erase_if(user, [](char c) { return c == ':' || c == '@' || c == '/' || c == '?'; });
  // What is no password may be shown, and errors show the byte C4 as \xc4.
  for (const std::string& p : {user, part[1], part[2], part[3], part[4]}) {
    const std::string shown = printable(p);
    if (shown.find("4n4") != std::string::npos || shown.find("%34") != std::string::npos) return -1;
  }
  for (const std::string& secret : {std::string(canary), encoded(canary)}) {
    const std::string password = part[1] + secret + part[2];
    for (const std::string scheme : {"postgres://", "redis://", "//", ""}) {
      // a://b@c is a scheme and a name, and sqlite:a@b a path.
      if (!scheme.empty() || (!password.starts_with("//") && user != "sqlite"))
        require_hidden(scheme + user + ":" + password + "@" + part[3]);
    }
    std::string value = password;
    // & ends a value; so it would the password's, for every reader.
    std::erase(value, '&');
    for (const std::string name :
         {"password", "PGPASSWORD", "sslpassword", "pwd", "client_secret", "p%61ss", "auth_token"})
      require_hidden("postgres://" + user + "/" + part[4] + "?" + name + "=" + value + "&" + part[3]);
  }
  return 0;
}
