-- SPDX-License-Identifier: Apache-2.0
-- Applies a batch of requests, in order.  What it must answer is written down in include/holdfast/store.h.
--
-- KEYS  kept, index, purged, log; then of each request: lease, facts, queue, places
-- ARGV  client, void (us), length of the prefix; then of each request: verb, holder, token, ttl (ms, -1: without
--       end), place (ms), words (a note or a reason)
-- verb  a acquire, d acquire detached, n renew, e extend, r release, b break, x a key that may not be used
--
-- lease   string  the holder, with PX, as redis_exp_lock writes it
-- facts   hash    token, holder, since, until, about, kept, q, w:<client>        docs/stores/redis.md
-- queue   zset    clients by ticket
-- places  zset    the same clients by when their place runs out (us)
--
-- Answers now, then of each request: verdict, token, holder, remaining (ms, -1: without end), ahead.  Only what
-- is granted is written: reading comes first, so that a script that may not write has done nothing.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local kept, index, purged, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local client, void, skip = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]) + 1
local day, endless = 86400000000, math.huge
local granted, released, busy, lost, too_late, foreign = 0, 1, 2, 3, 4, 5
local wrote = false

local function write(...)
  local answer = redis.call(...)
  wrote = true
  return answer
end

local function whole(number) return string.format('%.0f', number) end

local function millis(micros) return math.max(math.floor(micros / 1000), 1) end

-- Of what is over for good we remember how far tokens had come.
local function sweep()
  local over = redis.call('ZRANGEBYSCORE', kept, '-inf', whole(now / 1000), 'WITHSCORES', 'LIMIT', 0, 2)
  for i = 1, #over, 2 do
    local last = math.max(tonumber(redis.call('GET', purged) or 0), tonumber(over[i + 1]) * 1000)
    write('SET', purged, whole(last))
    write('ZREM', kept, over[i])
    write('ZREM', index, over[i])
  end
end

-- The facts stay a day longer than anything they tell of, and are touched only when less is left.
local function keep(r, till)
  if till == endless then
    if r.kept == endless then return end
    r.kept = endless
    write('PERSIST', r.facts)
    write('HSET', r.facts, 'kept', 'never')
    write('ZADD', kept, '+inf', r.key)
  else
    local need = math.max(till, tonumber(r.token or 0)) + day
    if r.kept >= need then return end
    r.kept = need + day
    write('PEXPIREAT', r.facts, whole(r.kept / 1000))
    write('HSET', r.facts, 'kept', whole(r.kept))
    write('ZADD', kept, whole(r.kept / 1000), r.key)
  end
  if write('ZADD', index, 0, r.key) == 1 then sweep() end
end

local function next_token(r)
  local last = tonumber(r.token)
  if not last then
    last = tonumber(redis.call('GET', purged) or 0)
    local gone = tonumber(redis.call('ZSCORE', kept, r.key) or 0)
    if gone < endless then last = math.max(last, gone * 1000) end
  end
  return whole(math.max(last + 1, now))
end

local function note_grant(r, ttl)
  local ends = ttl < 0 and endless or now + ttl * 1000
  r.token, r.named = next_token(r), r.holder
  write('HSET', r.facts, 'token', r.token, 'holder', r.holder, 'since', whole(now), 'until',
    ends == endless and 'never' or whole(ends), 'about', (r.verb == 'd' and 'd' or '-') .. r.words)
  if r.kept == endless and ends < endless then r.kept = 0 end
  keep(r, ends)
end

local function note_end(r)
  if not r.named then return end
  write('HSET', r.facts, 'holder', '', 'until', whole(now))
  r.named = ''
  if r.kept == endless then
    r.kept = 0
    keep(r, now)
  end
end

local function write_down(r, event, reason)
  write('XADD', log, 'MAXLEN', '~', 10000, '*', 'at', whole(now), 'key', r.key, 'event', event,
    'holder', r.named, 'token', r.token or '0', 'by', r.holder, 'reason', reason)
end

-- What is left of a live lease, and never less than before.
local function lengthen(r, ttl, extend)
  local left = redis.call('PTTL', r.lease)
  if left == -1 then return -1 end
  local want = (extend and ttl >= 0) and left + ttl or ttl
  if want < 0 then
    write('PERSIST', r.lease)
    write('HSET', r.facts, 'until', 'never')
    keep(r, endless)
    return -1
  end
  if want <= left then return math.max(left, 1) end
  write('PEXPIRE', r.lease, whole(want))
  write('HSET', r.facts, 'until', whole(now + want * 1000))
  keep(r, now + want * 1000)
  return want
end

local function leave(r, who)
  write('ZREM', r.places, who)
  write('HDEL', r.facts, 'w:' .. who)
  if write('ZREM', r.queue, who) == 0 then return false end
  if redis.call('ZCARD', r.queue) == 0 then
    write('HDEL', r.facts, 'q')
    r.waited = false
  end
  return true
end

local function drop_dead(r)
  if not r.waited then return end
  for _, who in ipairs(redis.call('ZRANGEBYSCORE', r.places, '-inf', whole(now))) do leave(r, who) end
end

-- Who is first, and until when.  One without a place is what an eviction has left of somebody.
local function first(r)
  while r.waited do
    local who = redis.call('ZRANGE', r.queue, 0, 0)[1]
    local ends = who and redis.call('ZSCORE', r.places, who)
    if ends then return who, tonumber(ends) end
    if not who then r.waited = false else leave(r, who) end
  end
end

local function ring(r)
  local next = first(r)
  if next then write('PUBLISH', 'holdfast:bell:' .. next, r.key) end
end

local function queue_up(r, place)
  if not redis.call('ZSCORE', r.queue, client) then
    write('ZADD', r.queue, write('HINCRBY', r.facts, 'q', 1), client)
  end
  write('ZADD', r.places, whole(now + place * 1000), client)
  write('HSET', r.facts, 'w:' .. client, r.holder)
  r.waited = true
  local longest = tonumber(redis.call('ZRANGE', r.places, -1, -1, 'WITHSCORES')[2])
  write('PEXPIREAT', r.queue, whole((longest + day) / 1000))
  write('PEXPIREAT', r.places, whole((longest + day) / 1000))
  keep(r, longest)
end

local function left_of(r)
  if not r.owner then return 0 end
  local left = redis.call('PTTL', r.lease)
  return left == -1 and -1 or math.max(left, 1)
end

local function has_lost(r) return lost, r.owner or r.named or '', left_of(r), 0 end

local function acquire(r, ttl, place)
  if now > void then return too_late, '', 0, 0 end
  drop_dead(r)
  if r.owner == r.holder then
    if not r.known then note_grant(r, math.max(redis.call('PTTL', r.lease), -1)) end
    return granted, '', lengthen(r, ttl), 0
  end
  local head, head_ends = first(r)
  if r.owner or (head and head ~= client) then
    if place > 0 then queue_up(r, place) end
    local ahead = r.waited and (redis.call('ZRANK', r.queue, client) or redis.call('ZCARD', r.queue)) or 0
    if r.owner then return busy, r.owner, left_of(r), ahead end
    return busy, '', millis(head_ends - now), ahead
  end
  if r.named and r.named ~= '' and r.named ~= r.holder then write_down(r, 'taken-over', '') end
  if ttl < 0 then write('SET', r.lease, r.holder) else write('SET', r.lease, r.holder, 'PX', whole(ttl)) end
  if head then leave(r, client) end
  note_grant(r, ttl)
  return granted, '', ttl, 0
end

local function matches(r)
  return r.owner and r.holder ~= '' and r.owner == r.holder
    and (r.wanted == '0' or (r.known and r.wanted == r.token))
end

local function renew(r, ttl, extend)
  if not matches(r) then return has_lost(r) end
  if not r.known then note_grant(r, math.max(redis.call('PTTL', r.lease), -1)) end
  return granted, '', lengthen(r, ttl, extend), 0
end

local function release(r, place)
  drop_dead(r)
  local was_first = first(r) == client
  local left = place > 0 and r.waited and leave(r, client)
  if not matches(r) then
    if left and was_first and not r.owner then ring(r) end  -- a free key waits for its next
    return has_lost(r)
  end
  write('DEL', r.lease)
  note_end(r)
  ring(r)
  return released, '', 0, 0
end

local function break_lease(r)
  if not (r.owner and r.known and r.token == r.wanted) then return has_lost(r) end
  write('DEL', r.lease)
  write_down(r, 'broken', r.words)
  note_end(r)
  drop_dead(r)
  ring(r)
  return released, '', 0, 0
end

local function decide(r, ttl, place)
  if r.verb == 'x' then return foreign, 'name', 0, 0 end
  r.owner = redis.pcall('GET', r.lease)
  if type(r.owner) == 'table' then
    if not string.find(r.owner.err, 'WRONGTYPE', 1, true) then error(r.owner) end
    return foreign, redis.call('TYPE', r.lease).ok, 0, 0
  end
  local facts = redis.call('HMGET', r.facts, 'token', 'holder', 'q', 'kept')
  r.token, r.named, r.waited = facts[1], facts[2], facts[3]
  r.kept = facts[4] == 'never' and endless or tonumber(facts[4] or 0)
  r.known = r.token and r.owner and r.owner == r.named  -- the facts tell of this very grant
  if r.verb == 'a' or r.verb == 'd' then return acquire(r, ttl, place) end
  if r.verb == 'n' or r.verb == 'e' then return renew(r, ttl, r.verb == 'e') end
  if r.verb == 'r' then return release(r, place) end
  return break_lease(r)
end

local function apply()
  local answers, a = { whole(now) }, 1
  local k, v = 4, 3
  while k < #KEYS do
    local lease = KEYS[k + 1]
    local r = { lease = lease, facts = KEYS[k + 2], queue = KEYS[k + 3], places = KEYS[k + 4],
      key = string.sub(lease, skip), verb = ARGV[v + 1], holder = ARGV[v + 2], wanted = ARGV[v + 3],
      words = ARGV[v + 6] }
    local verdict, holder, remaining, ahead = decide(r, tonumber(ARGV[v + 4]), tonumber(ARGV[v + 5]))
    answers[a + 1], answers[a + 2], answers[a + 3] = verdict, r.token or '0', holder
    answers[a + 4], answers[a + 5] = remaining, ahead
    a, k, v = a + 5, k + 4, v + 6
  end
  return answers
end

-- Whoever asked must know whether a failure came before the first write.
local fine, answer = pcall(apply)
if fine then return answer end
local why = type(answer) == 'table' and answer.err or tostring(answer)
why = string.gsub(string.gsub(why, '^@?user_script:%s*%d+:%s*', ''), '^%-', '')
return redis.error_reply((wrote and 'HALFDONE ' or '') .. why)
