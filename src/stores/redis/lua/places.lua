-- SPDX-License-Identifier: Apache-2.0
-- Who waits, the first in a queue first.  Writes nothing.
--
-- KEYS     of each key: facts, queue, places
-- ARGV     how many places at most
-- Answers  of each place: number of the key (from 0), client, holder, remaining (ms)
--
-- What another program has replaced by something of another type counts as missing: the places of other keys are listed
-- all the same.
local most = tonumber(ARGV[1]) * 4
local rows = {}
for k = 1, #KEYS, 3 do
  for _, client in ipairs(read('ZRANGE', KEYS[k + 1], 0, -1) or {}) do
    local ends = tonumber(read('ZSCORE', KEYS[k + 2], client) or 0)
    if ends > now_us then
      if #rows >= most then return rows end
      rows[#rows + 1] = (k - 1) / 3
      rows[#rows + 1] = client
      rows[#rows + 1] = read('HGET', KEYS[k], 'w:' .. client) or ''
      rows[#rows + 1] = math.max(math.floor((ends - now_us) / 1000), 1)
    end
  end
end
return rows
