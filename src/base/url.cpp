// SPDX-License-Identifier: Apache-2.0
#include "base/url.h"

#include <algorithm>
#include <cctype>

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
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-'; });
}

bool names_a_secret(std::string_view parameter) {
  std::string lower(parameter);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("pass") != std::string::npos || lower.find("secret") != std::string::npos ||
         lower.find("token") != std::string::npos;
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
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      return Error{Errc::invalid, "\"" + printable(text) + "\" has a % that is not followed by two hex digits; write %25 for %"};
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

Result<Url> parse_url(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) {
    return Error{Errc::invalid,
                 "\"" + printable(redacted(text)) + "\" is not the URL of a store: it has no scheme; write for example sqlite:PATH"};
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
      return Error{Errc::invalid, "\"" + printable(redacted(text)) + "\": a parameter behind ? is written NAME=VALUE"};
    }
    auto name = percent_decoded(pair.substr(0, equals));
    if (!name) return std::move(name).error();
    auto value = percent_decoded(pair.substr(equals + 1));
    if (!value) return std::move(value).error();
    url.parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return url;
}

std::string_view password_in(std::string_view url) noexcept {
  const std::size_t start = url.find("://");
  if (start == std::string_view::npos) return {};
  const std::size_t from = start + 3;
  const std::size_t authority_end = std::min(url.find_first_of("/?", from), url.size());
  // A password may itself hold an @ or a /: hide up to the last @ of the whole text rather than show a part.
  const std::size_t at = std::max(url.rfind('@', authority_end), url.rfind('@'));
  if (at == std::string_view::npos || at < from) return {};
  const std::size_t colon = url.find(':', from);
  if (colon == std::string_view::npos || colon >= at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

std::string redacted(std::string_view url) {
  std::string out(url);
  if (const std::string_view password = password_in(url); !password.empty()) {
    out.replace(static_cast<std::size_t>(password.data() - url.data()), password.size(), hidden);
  }
  for (std::size_t from = out.find('?'); from != std::string::npos && from < out.size(); from = out.find('&', from)) {
    ++from;
    const std::size_t end = std::min(out.find('&', from), out.size());
    const std::size_t equals = out.find('=', from);
    if (equals < end && names_a_secret(std::string_view(out).substr(from, equals - from))) {
      out.replace(equals + 1, end - equals - 1, hidden);
    }
  }
  return out;
}

}  // namespace holdfast
