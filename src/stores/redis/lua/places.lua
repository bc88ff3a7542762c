-- SPDX-License-Identifier: Apache-2.0
-- Who waits, the first in a queue first.  Writes nothing.
--
-- KEYS     of each key: facts, queue, places
-- ARGV     how many places at most
-- Answers  of each place: number of the key (from 0), client, holder, remaining (ms)
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local most = tonumber(ARGV[1]) * 4
local rows = {}
for k = 1, #KEYS, 3 do
  for _, client in ipairs(redis.call('ZRANGE', KEYS[k + 1], 0, -1)) do
    local ends = tonumber(redis.call('ZSCORE', KEYS[k + 2], client) or 0)
    if ends > now then
      if #rows >= most then return rows end
      rows[#rows + 1] = (k - 1) / 3
      rows[#rows + 1] = client
      rows[#rows + 1] = redis.call('HGET', KEYS[k], 'w:' .. client) or ''
      rows[#rows + 1] = math.max(math.floor((ends - now) / 1000), 1)
    end
  end
end
return rows
