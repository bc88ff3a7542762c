// SPDX-License-Identifier: Apache-2.0
#include "base/url.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace holdfast {
namespace {

constexpr std::string_view hidden = "***";

// What follows is a path, in which : and @ are ordinary letters.
constexpr std::string_view file_scheme = "sqlite:";

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
  if (lower == "passfile") return false;                // names a file, not a password
  if (lower == "authmechanismproperties") return true;  // may contain a token
  return lower.find("pass") != std::string::npos || lower.find("pwd") != std::string::npos ||
         lower.find("secret") != std::string::npos || lower.find("token") != std::string::npos;
}

// The position of the user in //user:password@: behind the scheme, or at the start if the scheme is missing.
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

// The password of //user:password@ as a part of `url`; empty if there is none.
std::string_view password_in(std::string_view url) noexcept {
  if (url.starts_with(file_scheme)) return {};
  const std::size_t from = start_of_user(url);
  // A password may itself contain an @, a / or a ?.  Hiding up to the last @ of the text never shows a part
  // of it.
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos || at < from) return {};
  const std::size_t colon = url.find(':', from);
  if (colon == std::string_view::npos || colon >= at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

// Marks the letters of //user:password@ and of secret parameters.  The two may overlap (password=a@b behind
// host:port).
std::vector<bool> secret_letters(std::string_view url) {
  std::vector<bool> secret(url.size());
  const auto hide = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = from; i < from + size; ++i) secret[i] = true;
  };
  if (const std::string_view password = password_in(url); !password.empty()) {
    hide(static_cast<std::size_t>(password.data() - url.data()), password.size());
  }
  // Also of "host=db password=x", which is not a URL, but users may write it in the place of one.
  for (std::size_t from = 0; from < url.size();
       from = std::min(url.find_first_of("?&; ", from), url.size() - 1) + 1) {
    const std::size_t end = std::min(url.find('&', from), url.size());
    const std::size_t equals = url.find('=', from);
    if (equals < end && names_a_secret(url.substr(from, equals - from))) hide(equals + 1, end - equals - 1);
  }
  return secret;
}

Error invalid_address(const std::string& what) {
  return {Errc::invalid, "invalid server address: " + what +
                             "; write //user:password@host:port/name, with %40 for @, %3A for :, %2F for / "
                             "and %3F for ? inside user and password"};
}

Status decode_into(std::string_view text, std::string& into) {
  auto decoded = percent_decoded(text);
  if (!decoded) return invalid_address("a % in it is not followed by two hex digits");
  into = *std::move(decoded);
  return Status{};
}

Status parse_user(std::string_view text, Address& address) {
  address.has_user = true;
  const std::size_t colon = text.find(':');
  if (Status s = decode_into(text.substr(0, colon), address.user); !s) return s;
  if (colon == std::string_view::npos) return Status{};
  address.has_password = true;
  return decode_into(text.substr(colon + 1), address.password);
}

Status parse_port(std::string_view text, Address& address) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address.port);
  if (error != std::errc{} || end != text.data() + text.size() || address.port == 0)
    return invalid_address("the port" + (address.clear ? " \"" + printable(text) + "\"" : "") +
                           " is not a number from 1 to 65535");
  return Status{};
}

// Without an @ before it, a word in the place of the host may be a user name whose @ was forgotten or written
// as %40.
bool is_host(const Address& address) {
  const std::string& host = address.host;
  const bool number =
      host.find('.') != std::string::npos && host.find_first_not_of("0123456789.") == std::string::npos;
  return address.has_user || host == "localhost" || number || host.find(':') != std::string::npos;
}

Status parse_host(std::string_view text, Address& address) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return invalid_address("it has a [ without a ]");
    address.host = text.substr(1, bracket - 1);
    if (address.host.find(':') == std::string::npos)
      return invalid_address("there is no IPv6 address between [ and ]");
    end = bracket + 1;
    if (end < text.size() && text[end] != ':') return invalid_address("only :PORT may follow the ]");
  } else {
    if (Status s = decode_into(text.substr(0, end), address.host); !s) return s;
  }
  const auto odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::any_of(address.host.begin(), address.host.end(), odd))
    return invalid_address("the host contains a space or a control character");
  address.clear = address.clear && is_host(address);
  return end >= text.size() ? Status{} : parse_port(text.substr(end + 1), address);
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
    return Error{Errc::invalid, "\"" + printable(redacted(text)) +
                                    "\" is not the URL of a store: it has no scheme; write for example " +
                                    std::string(file_scheme) + "PATH"};
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

Result<Address> parse_address(std::string_view rest, bool at_end) {
  if (!rest.starts_with("//")) return invalid_address("it does not start with //");
  rest.remove_prefix(2);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  const std::string_view path = slash < rest.size() ? rest.substr(slash + 1) : std::string_view{};
  if (path.find('@') != std::string_view::npos) return invalid_address("it has an @ after the first /");

  Address address;
  address.clear = at_end;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (Status s = parse_user(authority.substr(0, at), address); !s) return std::move(s).error();
    authority.remove_prefix(at + 1);
  }
  if (Status s = parse_host(authority, address); !s) return std::move(s).error();
  if (Status s = decode_into(path, address.path); !s) return std::move(s).error();
  return address;
}

bool is_local(std::string_view host) {
  const bool numbers = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (numbers && host.starts_with("127."));
}

std::string as_path_of_url(std::string_view path) {
  std::string out;
  for (const char c : path) out += c == '%' ? "%25" : c == '?' ? "%3F" : std::string(1, c);
  return out;
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
  const bool brackets = host.find(':') != std::string_view::npos;
  return (brackets ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
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
