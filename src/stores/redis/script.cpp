// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/script.h"

#include "stores/redis/active_job_lock_lua.h"

namespace holdfast::redis {

static_assert(lua_count == active_job_lock::lua_count);

Script script_for(Lua lua, Layout layout) noexcept {
  if (layout == Layout::own) return {text(lua), sha1(lua)};
  const auto same = static_cast<active_job_lock::Lua>(lua);
  return {text(same), sha1(same)};
}

std::string text_at(std::string_view text, Micros now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  static constexpr std::string_view asks = "call('TIME')";  // in the part `begin` of leases.lua
  std::string fixed(text);
  fixed.replace(
      fixed.find(asks), asks.size(),
      "{'" + std::to_string(seconds.count()) + "', '" + std::to_string(Micros(now - seconds).count()) + "'}");
  return fixed;
}

}  // namespace holdfast::redis
