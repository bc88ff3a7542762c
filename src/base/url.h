// SPDX-License-Identifier: Apache-2.0
// url.h - the URL of a store, the server address in it, and how to print it without its password.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// SCHEME:REST?NAME=VALUE&NAME=VALUE.  REST stays as it was written, because each store reads it in its own
// way (a path, or //user:password@host/database).  Names and values are percent-decoded.
struct Url {
  std::string scheme;
  std::string rest;
  std::vector<std::pair<std::string, std::string>> parameters;
};

Result<Url> parse_url(std::string_view text);

// %41 becomes A.  Fails on a % that is not followed by two hex digits, and on an encoded NUL.
Result<std::string> percent_decoded(std::string_view text);

// -- the address of a server: //user:password@host:port/path

// All fields but the port are percent-decoded.  A field that is not given is empty, or zero.
struct Address {
  std::string user;
  std::string password;
  bool has_user = false;      // there is an @
  bool has_password = false;  // and a : before it
  std::string host;           // an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path;    // behind the / that follows the host
  bool clear = false;  // the text after the host cannot belong to a password, so an error may quote it
};

// `rest` is Url::rest.  Errors quote nothing of it, because misplaced text may be a password.  With `at_end`
// the caller promises that no @ follows in the parameters; then an error may quote the port.
Result<Address> parse_address(std::string_view rest, bool at_end = false);

// Whether `host` is this machine, by name or by number, so that no network carries the traffic.
bool is_local(std::string_view host);

// A path as it stands in a URL: ? and % mean something there.
std::string as_path_of_url(std::string_view path);

// host:port, with brackets around an IPv6 address.
std::string host_and_port(std::string_view host, std::uint16_t port);

// -- passwords

// The same URL with its secrets replaced, safe to print: //user:***@host, password=***.
std::string redacted(std::string_view url);

// The secrets that redacted() hides, each as it is written and percent-decoded.
std::vector<std::string> secrets_in(std::string_view url);

}  // namespace holdfast
