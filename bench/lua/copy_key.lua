-- SPDX-License-Identifier: Apache-2.0
-- Copies what is remembered of a key that is free, as the store lays it out.
-- ARGV  the prefix of the lock table, the key, numbers of the first and of the last copy
local prefix = ARGV[1]
local function facts_of(key) return 'holdfast:facts:{' .. prefix .. key .. '}' end
local fields = redis.call('HGETALL', facts_of(ARGV[2]))
local kept = redis.call('HGET', facts_of(ARGV[2]), 'kept')
for number = ARGV[3], ARGV[4] do
  local key = string.format('free-%07d', number)
  redis.call('HSET', facts_of(key), unpack(fields))
  redis.call('EXPIREAT', facts_of(key), kept)
  redis.call('ZADD', 'holdfast:index:' .. prefix, 0, key)
  redis.call('ZADD', 'holdfast:kept:' .. prefix, kept, key)
end
return redis.call('ZCARD', 'holdfast:index:' .. prefix)
