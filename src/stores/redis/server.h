// SPDX-License-Identifier: Apache-2.0
// server.h - what a server says about itself, and whether leases can be trusted to it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/store.h"
#include "stores/redis/site.h"

namespace holdfast::redis {

// The answer to INFO.
class ServerInfo {
 public:
  explicit ServerInfo(std::string_view info) : text_(info) {}
  // The value behind `name:`; empty: not there.
  std::string_view operator[](std::string_view name) const;
  // Zero: not there, or no number.
  std::uint64_t number(std::string_view name) const;

 private:
  std::string text_;
};

// Why no lease may be kept there.
Status check_server(const ServerInfo& info, const Site& site);

Traits traits_of(const ServerInfo& info, const Site& site);

}  // namespace holdfast::redis
