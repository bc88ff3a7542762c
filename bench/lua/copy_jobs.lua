-- SPDX-License-Identifier: Apache-2.0
-- Copies the first job that is ready so many times, each with a key of its own, as the store lays them out.
-- ARGV  what the names of its jobs begin with, queue, how many
local base, ready = ARGV[1], ARGV[1] .. 'ready:' .. ARGV[2]
local order = redis.call('ZRANGE', ready, 0, 0)[1]
local before = string.sub(order, 1, -17)
local fields = redis.call('HGETALL', base .. 'job:' .. string.format('%.0f', string.sub(order, -16)))
local place
for i = 1, #fields, 2 do if fields[i] == 'key' then place = i + 1 end end
for _ = 1, ARGV[3] do
  local id = string.format('%.0f', redis.call('INCR', base .. 'last'))
  fields[place] = 'lock:Bench:' .. id
  redis.call('HSET', base .. 'job:' .. id, unpack(fields))
  redis.call('ZADD', ready, 0, before .. string.format('%016.0f', id))
  redis.call('ZADD', base .. 'ids', id, id)
  redis.call('ZADD', base .. 'of:' .. fields[place], id, id)
end
return redis.call('ZCARD', ready)
