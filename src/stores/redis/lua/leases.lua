-- SPDX-License-Identifier: Apache-2.0
-- Rows for people.  Writes nothing.
--
-- KEYS     of each key: lease, facts, places
-- Answers  of each key: owner ('': free), remaining (ms, -1: without end), token, holder, since, about, waiting;
--          an empty list for a key of which nothing is known
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
local rows = {}
for k = 1, #KEYS, 3 do
  local owner = redis.pcall('GET', KEYS[k])
  local facts = redis.call('HMGET', KEYS[k + 1], 'token', 'holder', 'since', 'about', 'kept')
  if type(owner) == 'table' then owner = '(no lease: a ' .. redis.call('TYPE', KEYS[k]).ok .. ')' end
  if owner or facts[5] then
    local left = owner and redis.call('PTTL', KEYS[k]) or 0
    if owner and left ~= -1 then left = math.max(left, 1) end
    local ours = not owner or owner == facts[2]  -- else the facts are those of an earlier grant
    rows[#rows + 1] = { owner or '', left, facts[1] or '0', facts[2] or '', ours and facts[3] or '0',
      ours and facts[4] or '-', redis.call('ZCOUNT', KEYS[k + 2], '(' .. now, '+inf') }
  else
    rows[#rows + 1] = {}
  end
end
return rows
