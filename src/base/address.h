// SPDX-License-Identifier: Apache-2.0
// address.h - where a server listens, and as whom we come: //user:password@host:port/path.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

// All but the port is percent-decoded.  What is not given is empty, or zero.
struct Address {
  std::string user;
  std::string password;
  bool has_user = false;      // an @ stands there
  bool has_password = false;  // and a : before it
  std::string host;           // an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path;    // behind the / that follows the host
  bool clear = false;  // what is behind the host is no part of a password: an error may repeat it
};

// `rest` is Url::rest.  Errors repeat nothing of it, as what is written wrongly may be a password; unless
// `at_end` promises that no @ follows in the parameters: then a port is named that can be nothing else.
Result<Address> parse_address(std::string_view rest, bool at_end = false);

// This machine, by name or by number: what is sent there is not heard on any network.
bool is_local(std::string_view host);

// host:port, with brackets around an IPv6 address.
std::string host_and_port(std::string_view host, std::uint16_t port);

}  // namespace holdfast
