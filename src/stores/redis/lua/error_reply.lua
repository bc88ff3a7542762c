-- SPDX-License-Identifier: Apache-2.0
-- Whoever asked must know whether a failure came before the first write.
local fine, answer = pcall(work)
if fine then return answer end
local why = type(answer) == 'table' and answer.err or tostring(answer)
why = string.gsub(string.gsub(why, '^@?user_script:%s*%d+:%s*', ''), '^%-', '')
return redis.error_reply((wrote and 'HALFDONE ' or '') .. why)
