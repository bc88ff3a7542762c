// SPDX-License-Identifier: Apache-2.0
// server_info.h - what a server says about itself: the answer to INFO.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

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

// What it is: Redis, or one of its relatives.
struct Kind {
  std::string name, version;
};
Kind kind_of(const ServerInfo& info);

}  // namespace holdfast::redis
