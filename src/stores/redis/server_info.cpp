// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/server_info.h"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

std::string_view ServerInfo::operator[](std::string_view name) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
  }
  return {};
}

std::uint64_t ServerInfo::number(std::string_view name) const {
  const std::string_view digits = (*this)[name];
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Each of them also has a redis_version, the one that it is like.
Kind kind_of(const ServerInfo& info) {
  const auto text = [&](std::string_view name) { return std::string(info[name]); };
  if (!info["valkey_version"].empty()) return {"Valkey", text("valkey_version")};
  if (!info["dragonfly_version"].empty()) return {"Dragonfly", text("dragonfly_version")};
  if (!info["mvcc_depth"].empty()) return {"KeyDB", text("redis_version")};
  return {"Redis", text("redis_version")};
}

}  // namespace holdfast::redis
