-- SPDX-License-Identifier: Apache-2.0
-- Which commands the user may not run.  Runs none of them, and writes nothing.
--
-- ARGV     of each command: how many words it has, and these
-- answer   a 1 for each that is forbidden, and a 0 for each other; nil: the server cannot tell, before 7.0
if not redis.acl_check_cmd then
  return false
end
local forbidden, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local known, may = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + words))
  forbidden[#forbidden + 1] = known and not may and 1 or 0
  at = at + words + 1
end
return forbidden
