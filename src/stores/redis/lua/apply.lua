-- SPDX-License-Identifier: Apache-2.0
-- The batch, from the first request on that needs more than fast_path.lua.
local function work()
  local decide = lease_rule({ kept = KEYS[1], index = KEYS[2], held = KEYS[3], purged = KEYS[4], log = KEYS[5],
    client = ARGV[1], void = ARGV[2], prefix = string.sub(KEYS[6], 1, tonumber(ARGV[3])) })
  answers = answers or {}
  for at = k, keys, 4 do
    local r = { lease = KEYS[at], facts = KEYS[at + 1], queue = KEYS[at + 2], places = KEYS[at + 3] }
    r.verb, r.holder, r.wanted, r.words = ARGV[v + 1], ARGV[v + 2], ARGV[v + 3], ARGV[v + 6]
    local place, longest = string.match(ARGV[v + 5], '^(%S+) ?(%S*)$')
    decide(r, tonumber(ARGV[v + 4]), tonumber(place), tonumber(longest))
    answers[#answers + 1] = now .. ' ' .. r.verdict .. ' ' .. (r.token or '0') .. ' ' .. whole(r.remaining) .. ' '
      .. r.ahead .. ' ' .. r.told
    v = v + 6
  end
  return keys == 9 and answers[1] or answers
end
