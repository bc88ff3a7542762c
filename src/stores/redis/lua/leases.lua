-- SPDX-License-Identifier: Apache-2.0
-- Rows for people.  Writes nothing.
--
-- KEYS     of each key: lease, facts, places
-- Answers  of each key: owner ('': free), remaining (ms, -1: without end), token, holder, since, about, waiting,
--          type ('': a lease can lie there); an empty list for a key of which nothing is known
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
local rows = {}
for k = 1, #KEYS, 3 do
  local owner = redis.pcall('GET', KEYS[k])
  local facts = redis.call('HMGET', KEYS[k + 1], 'token', 'holder', 'since', 'about', 'kept')
  local kind = type(owner) == 'table' and redis.call('TYPE', KEYS[k]).ok or ''
  if kind ~= '' then owner = '(no lease: a ' .. kind .. ')' end
  if owner or facts[5] then
    local left = owner and redis.call('PTTL', KEYS[k]) or 0
    if owner and left ~= -1 then left = math.max(left, 1) end
    -- Else the facts are those of an earlier grant: of this one nothing is known.
    local told = (not owner or owner == facts[2]) and facts or {}
    rows[#rows + 1] = { owner or '', left, told[1] or '0', told[2] or '', told[3] or '0', told[4] or '-',
      redis.call('ZCOUNT', KEYS[k + 2], '(' .. now, '+inf'), kind }
  else
    rows[#rows + 1] = {}
  end
end
return rows
