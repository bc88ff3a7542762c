// SPDX-License-Identifier: Apache-2.0
#include "base/url.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"

namespace holdfast {
namespace {

constexpr std::string_view hidden = "***";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_scheme(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-'; });
}

bool names_a_secret(std::string_view parameter) {
  const auto decoded = percent_decoded(parameter);
  std::string lower = decoded ? *decoded : std::string(parameter);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "passfile") return false;                // says where it is, not what
  if (lower == "authmechanismproperties") return true;  // of MongoDB: a token may be among them
  return lower.find("pass") != std::string::npos || lower.find("pwd") != std::string::npos ||
         lower.find("secret") != std::string::npos || lower.find("token") != std::string::npos;
}

// Where //user:password@ begins to say who: behind the scheme, or at the start where somebody forgot it.
std::size_t start_of_user(std::string_view url) {
  if (url.starts_with("//")) return 2;
  const std::size_t colon = url.find(':');
  return colon != std::string_view::npos && url.substr(colon).starts_with("://") ? colon + 3 : 0;
}

Error bad_percent(std::string_view text) {
  return {Errc::invalid,
          "\"" + printable(text) +
              "\": a % must be followed by two hex digits, and %00 is not allowed; write %25 for a % sign"};
}

// Where the password of //user:password@ stands in `url`; empty if there is none.
std::string_view password_in(std::string_view url) noexcept {
  if (url.starts_with("sqlite:")) return {};  // a path: there : and @ are letters like others
  const std::size_t from = start_of_user(url);
  // A password may itself hold an @, a / or a ?: hide up to the last @ of the whole text rather than show a
  // part.
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos || at < from) return {};
  const std::size_t colon = url.find(':', from);
  if (colon == std::string_view::npos || colon >= at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

// The two may overlap (password=a@b behind host:port): what either takes for secret is.
std::vector<bool> secret_letters(std::string_view url) {
  std::vector<bool> secret(url.size());
  const auto hide = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = from; i < from + size; ++i) secret[i] = true;
  };
  if (const std::string_view password = password_in(url); !password.empty()) {
    hide(static_cast<std::size_t>(password.data() - url.data()), password.size());
  }
  // Also "host=db password=x", which is no URL but may be taken for one.
  for (std::size_t from = 0; from < url.size();
       from = std::min(url.find_first_of("?&; ", from), url.size() - 1) + 1) {
    const std::size_t end = std::min(url.find('&', from), url.size());
    const std::size_t equals = url.find('=', from);
    if (equals < end && names_a_secret(url.substr(from, equals - from))) hide(equals + 1, end - equals - 1);
  }
  return secret;
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return bad_percent(text);
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

Result<Url> parse_url(std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    return Error{Errc::invalid,
                 "\"" + printable(redacted(text)) + "\" contains a NUL byte, which no URL may; remove it"};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) {
    return Error{Errc::invalid,
                 "\"" + printable(redacted(text)) +
                     "\" is not the URL of a store: it has no scheme; write for example sqlite:PATH"};
  }
  Url url{std::string(text.substr(0, colon)), {}, {}};
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t mark = rest.find('?');
  url.rest = rest.substr(0, mark);
  std::string_view query = mark == std::string_view::npos ? std::string_view{} : rest.substr(mark + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{Errc::invalid, "\"" + printable(redacted(text)) +
                                      "\": a parameter after ? is not of the form NAME=VALUE"};
    }
    auto name = percent_decoded(pair.substr(0, equals));
    auto value = percent_decoded(pair.substr(equals + 1));
    if (!name || !value) return bad_percent(redacted(text));
    url.parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return url;
}

std::string redacted(std::string_view url) {
  const std::vector<bool> secret = secret_letters(url);
  std::string out;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (!secret[i])
      out.push_back(url[i]);
    else if (i == 0 || !secret[i - 1])
      out.append(hidden);
  }
  return out;
}

std::vector<std::string> secrets_in(std::string_view url) {
  const std::vector<bool> secret = secret_letters(url);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (!secret[i]) continue;
    if (i == 0 || !secret[i - 1]) found.emplace_back();
    found.back().push_back(url[i]);
  }
  for (std::size_t i = 0, written = found.size(); i < written; ++i) {
    if (auto decoded = percent_decoded(found[i]); decoded && *decoded != found[i])
      found.push_back(*std::move(decoded));
  }
  return found;
}

}  // namespace holdfast
