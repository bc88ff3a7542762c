-- Holdfast's fence for Redis: claims and, in the same step, runs one command.
--
--   EVAL script 1 MARK TOKEN                        claims: before the first GET
--   EVAL script 2 MARK KEY TOKEN SET KEY value      claims and writes; more keys: count and name them all
--
-- MARK is a key that keeps the largest token seen; TOKEN that of the lease.  Answers as the command does, or 1.
-- An older holder gets an error that begins with FENCED, and nothing is run.  Between a claim and a later command
-- of its own anybody may come: what writes, writes in the script.  In a cluster the keys need one slot: {orders}:mark.
--
-- Numbers of Lua are doubles, and tokens do not fit: they are compared as texts.
local token = ARGV[1]
if not token or not string.match(token, '^[1-9]%d*$') or #token > 19 then
  return redis.error_reply('ERR the first argument is no token')
end
local seen = redis.call('GET', KEYS[1])
if seen then
  if not string.match(seen, '^[1-9]%d*$') then
    return redis.error_reply('ERR what stands in the key of the mark is no token')
  end
  if #seen > #token or (#seen == #token and seen > token) then
    return redis.error_reply('FENCED token ' .. token .. ' is too old: ' .. seen .. ' was here')
  end
end
if seen ~= token then
  redis.call('SET', KEYS[1], token)
end
if not ARGV[2] then
  return 1
end
return redis.call(unpack(ARGV, 2))
