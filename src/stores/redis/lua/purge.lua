-- SPDX-License-Identifier: Apache-2.0
-- Forgets keys that have been free long enough, and remembers how far their tokens had come.
--
-- KEYS     kept, index, held, purged; then of each key: lease, facts, queue, places
-- ARGV     for how long (us, -1: none goes), length of the prefix
-- Answers  how many keys, how many places that had run out
local kept, index, held, purged = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local free_for, skip = tonumber(ARGV[1]), tonumber(ARGV[2]) + 1
local last = tonumber(call('GET', purged) or 0)
local keys, places = 0, 0

local function forget(key, token)
  if token > last then
    last = token
    call('SET', purged, whole(last))
  end
  call('ZREM', index, key)
  call('ZREM', held, key)
  call('ZREM', kept, key)
end

local function purge_key(lease, facts, queue, waiting)
  local key = string.sub(lease, skip)
  local known = read('HMGET', facts, 'token', 'until', 'kept', 'holder')
  local over = read('ZRANGEBYSCORE', waiting, '-inf', now)
  -- What another program has replaced by something of another type is left as it is.
  if not (known and over and read('ZCARD', queue)) then return end
  for _, client in ipairs(over) do
    call('ZREM', queue, client)
    call('ZREM', waiting, client)
    call('HDEL', facts, 'w:' .. client)
    places = places + 1
  end
  local r = { lease = lease, token = known[1], till = known[2], named = known[4] }
  look(r)
  if not r.owner and call('ZCARD', waiting) == 0 then
    if (known[4] or '') == '' then call('ZREM', held, key) end
    local token = tonumber(known[1] or 0)
    if known[3] then
      -- A lease without end that is free has been taken away by somebody else, who knows when.
      local from, ttl = string.match(known[2] or '', '^(%d+)%+(%d+)$')
      local free_since = from and from + ttl * 1000 or 0
      -- Not one whose token is ahead of the clock: all new keys would have to start behind it.
      if free_for >= 0 and token < now_us and free_since <= now_us - free_for then
        forget(key, token)
        call('DEL', facts, queue, waiting)
        keys = keys + 1
      end
    else
      local ran_out = tonumber(call('ZSCORE', kept, key) or 0) * 1000000
      if ran_out <= now_us then forget(key, ran_out) end
    end
  end
end

for k = 5, #KEYS, 4 do purge_key(unpack(KEYS, k, k + 3)) end
return { keys, places }
