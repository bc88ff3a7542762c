// SPDX-License-Identifier: Apache-2.0
// Every script as the build puts it together.
#include "stores/redis/connection.h"
#include "tests/redis/suite.h"

namespace holdfast::test {
namespace {

TEST_F(RedisTest, every_script_compiles_and_the_server_knows_it_by_our_hash) {
  for (const redis::Layout layout : {redis::Layout::own, redis::Layout::active_job_lock}) {
    for (std::size_t i = 0; i < redis::lua_count; ++i) {
      const auto lua = static_cast<redis::Lua>(i);
      const redis::Script script = redis::script_for(lua, layout);
      EXPECT_EQ(redis({"SCRIPT", "LOAD", std::string(script.text)}), script.sha1) << name(lua);
    }
  }
}

// The server stores the text, and a user sends it whenever the server has forgotten it.
TEST(ScriptsOfRedis, hold_no_lines_that_are_only_a_comment) {
  for (const redis::NamedLua& lua : redis::all_lua)
    EXPECT_FALSE(mentions(std::string(lua.text), "\n--")) << lua.name;
}

}  // namespace
}  // namespace holdfast::test
