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
-- Answers of each request: now (us), verdict, token, remaining, ahead, holder, with blanks between.  One request: that
--         text alone; more: a list.
--
-- Most requests meet nobody: they are settled by the loop that comes first, without a function, a table or a pcall,
-- as making those takes longer than deciding.  Numbers stay texts where they can, for the same reason.  The first
-- request that is not so simple, and all behind it, are for the functions that follow.
local call, try = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2)
local keys, k, v = #KEYS, 5, 3
local answers, wrote

while k < keys do
  local lease, facts = KEYS[k], KEYS[k + 1]
  local verb, holder, wanted, ttl = ARGV[v + 1], ARGV[v + 2], ARGV[v + 3], ARGV[v + 4]
  local owner = try('GET', lease)
  local known = try('HMGET', facts, 'token', 'holder', 'q', 'kept')
  local token, named, kept = known[1], known[2], tonumber(known[4])
  local answer, noted
  -- Nobody waits, and what is kept beside the lease stays long enough (`kept` is no number: for ever).  In each case
  -- what makes the difference is written first: if it may not be, nothing was, and the same is tried again below.
  if token and kept and not known[3] then
    if verb == 'a' then
      local void = ARGV[2]
      if not owner and (named == '' or named == holder) and #token == #now and token < now
        and ttl ~= '-1' and ttl / 1000 < kept - time[1] - 86400
        and (#void > #now or (#void == #now and void >= now))
        and not try('SET', lease, holder, 'PX', ttl).err then
        noted = try('HSET', facts, 'token', now, 'holder', holder, 'since', now, 'until', now .. '+' .. ttl,
          'about', '-' .. ARGV[v + 6])
        answer = now .. ' 0 ' .. now .. ' ' .. ttl .. ' 0 '
      end
    elseif owner == holder and named == holder and holder ~= '' and (wanted == '0' or wanted == token) then
      if verb == 'r' then
        if try('DEL', lease) == 1 then
          noted = try('HSET', facts, 'holder', '', 'until', now .. '+0')
          answer = now .. ' 1 ' .. token .. ' 0 0 '
        end
      elseif verb == 'n' and ttl ~= '-1' and ttl / 1000 < kept - time[1] - 86400 then
        local left = tonumber(try('PTTL', lease)) or -1
        if left >= 0 and left < tonumber(ttl) and try('PEXPIRE', lease, ttl) == 1 then
          noted = try('HSET', facts, 'until', now .. '+' .. ttl)
          answer = now .. ' 0 ' .. token .. ' ' .. ttl .. ' 0 '
        end
      end
    end
  end
  if not answer then break end
  if type(noted) == 'table' then return redis.error_reply('HALFDONE ' .. noted.err) end
  if keys == 8 then return answer end
  answers, wrote = answers or {}, true
  answers[#answers + 1] = answer
  k, v = k + 4, v + 6
end
if k > keys then return answers end

local granted, released, busy, lost, too_late, foreign = ' 0 ', ' 1 ', ' 2 ', ' 3 ', ' 4 ', ' 5 '
local now_s, day_s = tonumber(time[1]), 86400
local late = false  -- so is all that follows: what is asked of a key takes effect in its order

-- Texts of digits.
local function less(a, b) return #a < #b or (#a == #b and a < b) end

local function give(lease, facts, holder, ttl, token, about)
  if ttl == '-1' then call('SET', lease, holder) else call('SET', lease, holder, 'PX', ttl) end
  wrote = true
  call('HSET', facts, 'token', token, 'holder', holder, 'since', now, 'until', now .. '+' .. ttl, 'about', about)
end

local function free(lease, facts)
  call('DEL', lease)
  wrote = true
  call('HSET', facts, 'holder', '', 'until', now .. '+0')
end

local function others()
  local kept, index, purged, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  local client, key_begin = ARGV[1], tonumber(ARGV[3]) + 1
  local now_us, endless = now_s * 1000000 + time[2], math.huge
  local far = 10000000000000  -- in `kept`, of a lease without end: this, and the second when it was looked at

  local function write(...)
    local answer = call(...)
    wrote = true
    return answer
  end

  local function whole(number) return string.format('%.0f', number) end

  -- As src/stores/redis/layout.cpp names them.
  local function facts_of(lease)
    local open = string.find(lease, '{', 1, true)
    local close = open and string.find(lease, '}', open + 1, true)
    if close and close > open + 1 then return 'holdfast:facts:=' .. lease end
    return 'holdfast:facts:{' .. lease .. '}'
  end

  -- A lease without end that somebody else took away would be remembered for ever.
  local function look_after(key)
    local lease = string.sub(KEYS[5], 1, key_begin - 1) .. key
    if redis.pcall('EXISTS', lease) ~= 0 then  -- or it is one that this user may not see
      write('ZADD', kept, whole(far + now_s), key)
      return
    end
    local facts = facts_of(lease)
    local token = tonumber(call('HGET', facts, 'token'))
    local ends = whole(math.ceil(math.max(now_s, (token or 0) / 1000000)) + day_s)
    if token then
      write('EXPIREAT', facts, ends)
      write('HSET', facts, 'kept', ends)
    end
    write('ZADD', kept, ends, key)
  end

  -- Of what is over for good we remember how far tokens had come.
  local function sweep()
    local seen_long_ago = call('ZRANGEBYSCORE', kept, far, whole(far + now_s - day_s), 'LIMIT', 0, 1)[1]
    if seen_long_ago then look_after(seen_long_ago) end
    local over = call('ZRANGEBYSCORE', kept, '-inf', now_s, 'WITHSCORES', 'LIMIT', 0, 2)
    for i = 1, #over, 2 do
      local last = math.max(tonumber(call('GET', purged) or 0), tonumber(over[i + 1]) * 1000000)
      write('SET', purged, whole(last))
      write('ZREM', kept, over[i])
      write('ZREM', index, over[i])
    end
  end

  -- The facts stay a day longer than anything they tell of, and are touched only when less is left.
  local function keep(r, till_s)
    if till_s == endless then
      if r.kept == endless then return end
      r.kept = endless
      write('PERSIST', r.facts)
      write('HSET', r.facts, 'kept', 'never')
      write('ZADD', kept, whole(far + now_s), r.key)
    else
      local need = math.ceil(math.max(till_s, tonumber(r.token or 0) / 1000000)) + day_s
      if r.kept >= need then return end
      r.kept = need + day_s
      write('EXPIREAT', r.facts, whole(r.kept))
      write('HSET', r.facts, 'kept', whole(r.kept))
      write('ZADD', kept, whole(r.kept), r.key)
    end
    if write('ZADD', index, 0, r.key) == 1 then sweep() end
  end

  local function keep_for(r, ttl)
    if ttl < 0 then return keep(r, endless) end
    if r.kept == endless then r.kept = 0 end
    keep(r, now_s + ttl / 1000)
  end

  local function next_token(r)
    local last = tonumber(r.token)
    if not last then
      last = tonumber(call('GET', purged) or 0)
      local gone = tonumber(call('ZSCORE', kept, r.key) or 0)
      if gone < far then last = math.max(last, gone * 1000000) end
    end
    return whole(math.max(last + 1, now_us))
  end

  local function about(r) return (r.verb == 'd' and 'd' or '-') .. r.words end

  -- Somebody else wrote the lease, in the name of this holder: what we do not know of is a new grant.
  local function adopt(r)
    if r.known then return end
    r.token, r.named = next_token(r), r.holder
    local left = call('PTTL', r.lease)
    write('HSET', r.facts, 'token', r.token, 'holder', r.holder, 'since', now, 'until', now .. '+' .. left,
      'about', about(r))
    keep_for(r, left)
  end

  local function write_down(r, event, reason)
    write('XADD', log, 'MAXLEN', '~', 10000, '*', 'at', now, 'key', r.key, 'event', event,
      'holder', r.named, 'token', r.token or '0', 'by', r.holder, 'reason', reason)
  end

  -- What is left of a live lease, and never less than before.
  local function lengthen(r, ttl, extend)
    local left = call('PTTL', r.lease)
    if left == -1 then return -1 end
    local want = (extend and ttl >= 0) and left + ttl or ttl
    if want >= 0 and want <= left then return math.max(left, 1) end
    if want < 0 then write('PERSIST', r.lease) else write('PEXPIRE', r.lease, whole(want)) end
    write('HSET', r.facts, 'until', now .. '+' .. whole(want))
    keep_for(r, want)
    return want
  end

  local function leave(r, who)
    write('ZREM', r.places, who)
    write('HDEL', r.facts, 'w:' .. who)
    local left = write('ZREM', r.queue, who) == 1
    if call('ZCARD', r.queue) == 0 then
      write('HDEL', r.facts, 'q')
      r.waited = false
    end
    return left
  end

  local function drop_dead(r)
    if not r.waited then return end
    for _, who in ipairs(call('ZRANGEBYSCORE', r.places, '-inf', now)) do leave(r, who) end
  end

  -- Who is first, and until when.  One without a place is what an eviction has left of somebody.
  local function first(r)
    while r.waited do
      local who = call('ZRANGE', r.queue, 0, 0)[1]
      local ends = who and call('ZSCORE', r.places, who)
      if ends then return who, tonumber(ends) end
      leave(r, who or '')
    end
  end

  -- A hint: a user who may not publish has waiters who poll.
  local function ring(r)
    local next = first(r)
    if next then redis.pcall('PUBLISH', 'holdfast:bell:' .. next, r.key) end
  end

  local function queue_up(r, place)
    if not call('ZSCORE', r.queue, client) then
      write('ZADD', r.queue, write('HINCRBY', r.facts, 'q', 1), client)
    end
    write('ZADD', r.places, whole(now_us + place * 1000), client)
    write('HSET', r.facts, 'w:' .. client, r.holder)
    r.waited = true
    local longest = math.ceil(tonumber(call('ZRANGE', r.places, -1, -1, 'WITHSCORES')[2]) / 1000000)
    write('EXPIREAT', r.queue, whole(longest + day_s))
    write('EXPIREAT', r.places, whole(longest + day_s))
    keep(r, longest)
  end

  local function answer(r, verdict, holder, remaining, ahead)
    return now .. verdict .. (r.token or '0') .. ' ' .. whole(remaining) .. ' ' .. ahead .. ' ' .. holder
  end

  local function left_of(r)
    if not r.owner then return 0 end
    local left = call('PTTL', r.lease)
    return left == -1 and -1 or math.max(left, 1)
  end

  local function has_lost(r) return answer(r, lost, r.owner or r.named or '', left_of(r), 0) end

  local function acquire(r, ttl, place)
    late = less(ARGV[2], now)
    if late then return answer(r, too_late, '', 0, 0) end
    drop_dead(r)
    if r.owner == r.holder then
      adopt(r)
      return answer(r, granted, '', lengthen(r, ttl), 0)
    end
    local head, head_ends = first(r)
    if r.owner or (head and head ~= client) then
      if place > 0 then queue_up(r, place) end
      local ahead = r.waited and (call('ZRANK', r.queue, client) or call('ZCARD', r.queue)) or 0
      if r.owner then return answer(r, busy, r.owner, left_of(r), ahead) end
      return answer(r, busy, '', math.max(math.floor((head_ends - now_us) / 1000), 1), ahead)
    end
    local before, last = r.named, r.token
    r.token = next_token(r)
    give(r.lease, r.facts, r.holder, whole(ttl), r.token, about(r))
    keep_for(r, ttl)
    if head then leave(r, client) end
    if before and before ~= '' and before ~= r.holder then
      write_down({ key = r.key, named = before, token = last, holder = r.holder }, 'taken-over', '')
    end
    return answer(r, granted, '', ttl, 0)
  end

  local function matches(r)
    return r.owner and r.holder ~= '' and r.owner == r.holder
      and (r.wanted == '0' or (r.known and r.wanted == r.token))
  end

  local function renew(r, ttl)
    if not matches(r) then return has_lost(r) end
    adopt(r)
    return answer(r, granted, '', lengthen(r, ttl, r.verb == 'e'), 0)
  end

  local function finish(r)
    if r.named then
      free(r.lease, r.facts)
      if r.kept == endless then keep_for(r, 0) end
    else
      write('DEL', r.lease)  -- of which we know nothing else
    end
    ring(r)
    return answer(r, released, '', 0, 0)
  end

  local function release(r, place)
    drop_dead(r)
    local was_first = first(r) == client
    local left = place > 0 and r.waited and leave(r, client)
    if matches(r) then return finish(r) end
    if left and was_first and not r.owner then ring(r) end  -- a free key waits for its next
    return has_lost(r)
  end

  local function break_lease(r)
    if not (r.known and r.token == r.wanted) then return has_lost(r) end
    drop_dead(r)
    local done = finish(r)
    write_down(r, 'broken', r.words)
    return done
  end

  return function(r, ttl, place)
    if late then return answer(r, too_late, '', 0, 0) end
    if r.verb == 'x' then return answer(r, foreign, 'name', 0, 0) end
    if type(r.owner) == 'table' then
      if not string.find(r.owner.err, 'WRONGTYPE', 1, true) then error(r.owner) end
      return answer(r, foreign, call('TYPE', r.lease).ok, 0, 0)
    end
    r.key = string.sub(r.lease, key_begin)
    r.kept = r.kept == 'never' and endless or tonumber(r.kept or 0)
    r.known = r.token and r.owner and r.owner == r.named  -- the facts tell of this very grant
    if r.verb == 'a' or r.verb == 'd' then return acquire(r, ttl, place) end
    if r.verb == 'n' or r.verb == 'e' then return renew(r, ttl) end
    if r.verb == 'r' then return release(r, place) end
    return break_lease(r)
  end
end

local function apply()
  local decide = others()
  answers = answers or {}
  for at = k, keys, 4 do
    local r = { lease = KEYS[at], facts = KEYS[at + 1], queue = KEYS[at + 2], places = KEYS[at + 3] }
    r.verb, r.holder, r.wanted, r.words = ARGV[v + 1], ARGV[v + 2], ARGV[v + 3], ARGV[v + 6]
    r.owner = r.verb ~= 'x' and redis.pcall('GET', r.lease)
    r.token, r.named, r.waited, r.kept = unpack(call('HMGET', r.facts, 'token', 'holder', 'q', 'kept'))
    answers[#answers + 1] = decide(r, tonumber(ARGV[v + 4]), tonumber(ARGV[v + 5]))
    v = v + 6
  end
  return keys == 8 and answers[1] or answers
end

-- Whoever asked must know whether a failure came before the first write.
local fine, answer = pcall(apply)
if fine then return answer end
local why = type(answer) == 'table' and answer.err or tostring(answer)
why = string.gsub(string.gsub(why, '^@?user_script:%s*%d+:%s*', ''), '^%-', '')
return redis.error_reply((wrote and 'HALFDONE ' or '') .. why)
