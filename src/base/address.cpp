// SPDX-License-Identifier: Apache-2.0
#include "base/address.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/url.h"

namespace holdfast {
namespace {

Error invalid(const std::string& what) {
  return {Errc::invalid, "invalid server address: " + what +
                             "; write //user:password@host:port/name, with %40 for @, %3A for :, %2F for / "
                             "and %3F for ? inside user and password"};
}

Status decode(std::string_view text, std::string& into) {
  auto decoded = percent_decoded(text);
  if (!decoded) return invalid("a % in it is not followed by two hex digits");
  into = *std::move(decoded);
  return Status{};
}

Status parse_user(std::string_view text, Address& address) {
  address.has_user = true;
  const std::size_t colon = text.find(':');
  if (Status s = decode(text.substr(0, colon), address.user); !s) return s;
  if (colon == std::string_view::npos) return Status{};
  address.has_password = true;
  return decode(text.substr(colon + 1), address.password);
}

Status parse_port(std::string_view text, Address& address) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address.port);
  if (error != std::errc{} || end != text.data() + text.size() || address.port == 0)
    return invalid("the port" + (address.clear ? " \"" + printable(text) + "\"" : "") +
                   " is not a number from 1 to 65535");
  return Status{};
}

// Without an @ before it, what reads as a host may be the user of somebody who forgot the rest, or wrote %40.
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
    if (bracket == std::string_view::npos) return invalid("it has a [ without a ]");
    address.host = text.substr(1, bracket - 1);
    if (address.host.find(':') == std::string::npos)
      return invalid("there is no IPv6 address between [ and ]");
    end = bracket + 1;
    if (end < text.size() && text[end] != ':') return invalid("only :PORT may follow the ]");
  } else {
    if (Status s = decode(text.substr(0, end), address.host); !s) return s;
  }
  const auto odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::any_of(address.host.begin(), address.host.end(), odd))
    return invalid("the host contains a space or a control character");
  address.clear = address.clear && is_host(address);
  return end >= text.size() ? Status{} : parse_port(text.substr(end + 1), address);
}

}  // namespace

Result<Address> parse_address(std::string_view rest, bool at_end) {
  if (!rest.starts_with("//")) return invalid("it does not start with //");
  rest.remove_prefix(2);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  const std::string_view path = slash < rest.size() ? rest.substr(slash + 1) : std::string_view{};
  if (path.find('@') != std::string_view::npos) return invalid("it has an @ after the first /");

  Address address;
  address.clear = at_end;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (Status s = parse_user(authority.substr(0, at), address); !s) return std::move(s).error();
    authority.remove_prefix(at + 1);
  }
  if (Status s = parse_host(authority, address); !s) return std::move(s).error();
  if (Status s = decode(path, address.path); !s) return std::move(s).error();
  return address;
}

bool is_local(std::string_view host) {
  const bool numbers = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (numbers && host.starts_with("127."));
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
  const bool brackets = host.find(':') != std::string_view::npos;
  return (brackets ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

}  // namespace holdfast
