-- SPDX-License-Identifier: Apache-2.0
-- Leases: the rule that decides, and every script that reads or writes them.
--
-- A script is the text of its block, with the parts that it includes (cmake/statements.cmake).  The part `layout` is in
-- own.lua and in active_job_lock.lua: there are two sets of scripts, which differ by it.

-- part: begin
-- How each script begins that decides something: one moment for all of it (us, as text).
local call, try = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2)
local wrote  -- something has been written

-- part: basics
local now_s, day_s = tonumber(time[1]), 86400
local now_us = now_s * 1000000 + time[2]

-- Texts of digits.
local function less(a, b) return #a < #b or (#a == #b and a < b) end

-- Texts of whole numbers, which may be below zero.
local function below(a, b)
  local minus = string.sub(a, 1, 1) == '-'
  if minus ~= (string.sub(b, 1, 1) == '-') then return minus end
  if minus then return less(string.sub(b, 2), string.sub(a, 2)) end
  return less(a, b)
end

local function whole(number) return string.format('%.0f', number) end

-- As call, but nil if the key is of another type.
local function read(...)
  local answer = try(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'WRONGTYPE', 1, true) then return nil end
  return call(...)  -- fails in the same way
end

-- The value of a lease.  False: there is none; a table: what is there is no lease, by its type or by its length.  A
-- long one is not read, unless the user lacks the right to STRLEN, which earlier versions did not need.
local function value_of(lease, longest)
  local size = try('STRLEN', lease)
  if type(size) ~= 'number' or size <= longest then
    local value = try('GET', lease)
    if type(value) ~= 'string' or #value <= longest then return value end
    size = #value
  end
  return { kind = 'string of ' .. size .. ' bytes' }
end

-- What is there instead of a lease.
--
-- REQUIRES: value_of() answered a table, which is r.owner
local function kind_of(r)
  if r.owner.kind then return r.owner.kind end
  read('GET', r.lease)  -- fails if it was not the type
  return call('TYPE', r.lease).ok
end

local function written_by_others(name) return '(another program has written to ' .. name .. ')' end

local function write(...)
  local answer = call(...)
  wrote = true
  return answer
end

-- As keys.h names them.
local function beside(word, lease)
  local open = string.find(lease, '{', 1, true)
  local close = open and string.find(lease, '}', open + 1, true)
  if close and close > open + 1 then return 'holdfast:' .. word .. ':=' .. lease end
  return 'holdfast:' .. word .. ':{' .. lease .. '}'
end

-- part: error_reply
-- The client must know whether a failure came before the first write.
local fine, answer = pcall(work)
if fine then return answer end
local why = type(answer) == 'table' and answer.err or tostring(answer)
why = string.gsub(string.gsub(why, '^@?user_script:%s*%d+:%s*', ''), '^%-', '')
return redis.error_reply((wrote and 'HALFDONE ' or '') .. why)

-- part: rule
-- Decides a request for a lease, as include/holdfast/spi/store.h specifies: for batches of them, and for jobs, whose
-- locks are leases.
local granted, released, busy, lost, too_late, foreign, companion_is_foreign = 0, 1, 2, 3, 4, 5, 6

-- shared  the names of kept, index, held, purged and log, and prefix; of the caller: client, void (us)
local function lease_rule(shared)
  local kept, index, held, purged, log = shared.kept, shared.index, shared.held, shared.purged, shared.log
  local client = shared.client
  local endless = math.huge
  local latest_end = 144115188075855  -- ms since 1970: of a lease that is extended again and again
  local far = 10000000000000  -- in `kept`, of a lease without end: this plus the second when it was last checked
  local late = false  -- then all that follow are too: requests for one key take effect in their order

  -- A lease without end that somebody else took away would be remembered for ever.
  local function check_endless(key)
    local lease = shared.prefix .. key
    if try('EXISTS', lease) ~= 0 then  -- or it is one that this user may not see
      write('ZADD', kept, whole(far + now_s), key)
      return
    end
    local facts = beside('facts', lease)
    local token = tonumber(try('HGET', facts, 'token'))
    local ends = whole(math.ceil(math.max(now_s, (token or 0) / 1000000)) + day_s)
    if token then
      write('EXPIREAT', facts, ends)
      write('HSET', facts, 'kept', ends)
    end
    write('ZADD', kept, ends, key)
  end

  -- Forgets keys that are over for good, and remembers their highest token.  A lease of another program that one of us
  -- has met is checked again in its turn.
  local function sweep()
    local seen_long_ago = call('ZRANGEBYSCORE', kept, far, whole(far + now_s - day_s), 'LIMIT', 0, 1)[1]
    if seen_long_ago then check_endless(seen_long_ago) end
    local over = call('ZRANGEBYSCORE', kept, '-inf', now_s, 'WITHSCORES', 'LIMIT', 0, 2)
    for i = 1, #over, 2 do
      local r = { lease = shared.prefix .. over[i] }
      read_owner(r)
      if type(r.owner) == 'string' and not is_no_lease(r) then
        write('ZADD', kept, now_s, over[i])
      else
        local last = math.max(tonumber(call('GET', purged) or 0), tonumber(over[i + 1]) * 1000000)
        write('SET', purged, whole(last))
        write('ZREM', kept, over[i])
        write('ZREM', index, over[i])
        write('ZREM', held, over[i])
      end
    end
  end

  -- The facts stay a day longer than what they describe, and their expiry is written only when less is left.
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

  -- `held` has each key that somebody holds, or held at the last request for it, or waits for.
  local function list_key(r) write('ZADD', held, 0, r.key) end
  local function unlist_key(r) write('ZREM', held, r.key) end

  -- Somebody else's lease, which one of us has met.  Only for people, so nothing fails for it.  Nothing else is known of
  -- the key: it is in `kept` to be swept, as one that is over now, which moves no token.
  local function list_stranger(r)
    if try('ZADD', held, 0, r.key) ~= 1 then return end
    if write('ZADD', index, 0, r.key) == 1 then
      write('ZADD', kept, 'NX', now_s, r.key)
      sweep()
    end
  end

  local function about(r) return (r.verb == 'd' and 'd' or '-') .. r.words end

  -- Somebody else wrote the lease, in the name of this holder: what we do not know of is a new grant.
  local function adopt(r)
    if r.known then return end
    r.token, r.named = r.in_lease or next_token(r), r.holder
    local left = left_of(r)
    write('HSET', r.facts, 'token', r.token, 'holder', r.holder, 'since', now, 'until', now .. '+' .. left,
      'about', about(r))
    keep_for(r, left)
    list_key(r)
  end

  local function log_event(r, event, reason)
    write('XADD', log, 'MAXLEN', '~', 10000, '*', 'at', now, 'key', r.key, 'event', event,
      'holder', r.named, 'token', r.token or '0', 'by', r.holder, 'reason', reason)
  end

  -- What is left of a live lease, and never less than before.
  local function lengthen(r, ttl, extend)
    local left = left_of(r)
    local want = ttl
    if extend and ttl >= 0 then want = math.min(left + ttl, latest_end - math.floor(now_us / 1000)) end
    if left == -1 or (want >= 0 and want <= left) then
      if r.overwritten then set_end(r, left) end
      return left
    end
    set_end(r, want)
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
      if not r.owner and (r.named or '') == '' then unlist_key(r) end
    end
    return left
  end

  local function drop_expired_places(r)
    if not r.waited then return end
    for _, who in ipairs(call('ZRANGEBYSCORE', r.places, '-inf', now)) do leave(r, who) end
  end

  -- Those of others that end after `latest` do not count (nil: all count).
  local function drop_later_places(r, latest)
    if not (r.waited and latest) then return end
    for _, who in ipairs(call('ZRANGEBYSCORE', r.places, '(' .. whole(latest), '+inf')) do
      if who ~= client then leave(r, who) end
    end
  end

  -- The first client of those that count, and until when.  One that is in the queue and has no place was evicted.
  local function first(r, latest)
    local at = 0
    while r.waited do
      local who = call('ZRANGE', r.queue, at, at)[1]
      if not who and at > 0 then return end
      local ends = who and tonumber(call('ZSCORE', r.places, who))
      if not ends then
        leave(r, who or '')
      elseif who == client or not latest or ends <= latest then
        return who, ends
      else
        at = at + 1
      end
    end
  end

  -- A hint: a user who may not publish has waiters who poll.
  local function notify_next(r)
    local next = first(r)
    if next then try('PUBLISH', 'holdfast:bell:' .. next, r.key) end
  end

  local function queue_up(r, place)
    if not call('ZSCORE', r.queue, client) then
      write('ZADD', r.queue, write('HINCRBY', r.facts, 'q', 1), client)
      list_key(r)
    end
    write('ZADD', r.places, whole(now_us + place * 1000), client)
    write('HSET', r.facts, 'w:' .. client, r.holder)
    r.waited = true
    local longest = math.ceil(tonumber(call('ZRANGE', r.places, -1, -1, 'WITHSCORES')[2]) / 1000000)
    write('EXPIREAT', r.queue, whole(longest + day_s))
    write('EXPIREAT', r.places, whole(longest + day_s))
    keep(r, longest)
  end

  local function answer(r, verdict, owner, remaining, ahead)
    r.verdict, r.reply_owner, r.remaining, r.ahead = verdict, owner, remaining, ahead
  end

  local function has_lost(r) return answer(r, lost, r.owner or r.named or '', left_of(r), 0) end

  local function is_holders(r) return r.owner and r.owner == r.holder and not r.stranger end

  local function acquire(r, ttl, place, longest)
    late = less(shared.void, now)
    if late then return answer(r, too_late, '', 0, 0) end
    drop_expired_places(r)
    if is_holders(r) then
      adopt(r)
      return answer(r, granted, '', lengthen(r, ttl), 0)
    end
    local latest = longest and now_us + longest * 1000
    local head, head_ends = first(r, latest)
    if r.owner or (head and head ~= client) then
      if place > 0 then queue_up(r, place) end
      if r.owner and not r.known then list_stranger(r) end
      local ahead = r.waited and (call('ZRANK', r.queue, client) or call('ZCARD', r.queue)) or 0
      if r.owner then return answer(r, busy, r.owner, left_of(r), ahead) end
      return answer(r, busy, '', math.max(math.floor((head_ends - now_us) / 1000), 1), ahead)
    end
    local before, last = r.named, r.token
    r.token = next_token(r)
    set_owner(r, ttl)
    write('HSET', r.facts, 'token', r.token, 'holder', r.holder, 'since', now, 'until', now .. '+' .. whole(ttl),
      'about', about(r))
    keep_for(r, ttl)
    if head then leave(r, client) end
    drop_later_places(r, latest)
    list_key(r)
    if before and before ~= '' and before ~= r.holder then
      log_event({ key = r.key, named = before, token = last, holder = r.holder }, 'taken-over', '')
    end
    return answer(r, granted, '', ttl, 0)
  end

  local function matches(r)
    return r.holder ~= '' and is_holders(r) and (r.wanted == '0' or (r.known and r.wanted == r.token))
  end

  local function renew(r, ttl)
    if not matches(r) then return has_lost(r) end
    adopt(r)
    return answer(r, granted, '', lengthen(r, ttl, r.verb == 'e'), 0)
  end

  local function finish(r)
    if r.named then
      write('DEL', r.lease)
      write('HSET', r.facts, 'holder', '', 'until', now .. '+0')
      if r.kept == endless then keep_for(r, 0) end
    else
      write('DEL', r.lease)  -- of which we know nothing else
    end
    notify_next(r)
    if not r.waited then unlist_key(r) end
    return answer(r, released, '', 0, 0)
  end

  local function release(r, place)
    drop_expired_places(r)
    local was_first = first(r) == client
    local left = place > 0 and r.waited and leave(r, client)
    if matches(r) then return finish(r) end
    if left and was_first and not r.owner then notify_next(r) end  -- a free key waits for its next
    return has_lost(r)
  end

  local function break_lease(r)
    if not (r.known and r.token == r.wanted) then return has_lost(r) end
    drop_expired_places(r)
    local done = finish(r)
    log_event(r, 'broken', r.words)
    return done
  end

  -- Reads the facts.  Answers the name of a key beside the lease that another program has replaced by something of
  -- another type: this request is refused before it writes anything, so that the others of the batch are answered.
  local function read_facts(r, place)
    local facts = read('HMGET', r.facts, 'token', 'holder', 'q', 'kept', 'until')
    if not facts then return r.facts end
    r.token, r.named, r.waited, r.kept, r.till = unpack(facts)
    local needs_queue = r.verb ~= 'n' and r.verb ~= 'e' and (r.waited or place > 0)
    if needs_queue and not read('ZCARD', r.queue) then return r.queue end
    if needs_queue and not read('ZCARD', r.places) then return r.places end
  end

  -- r  lease, facts, queue, places, verb, holder, wanted (a token), words.  Fills in verdict, reply_owner,
  --    remaining, ahead, and token.
  return function(r, ttl, place, longest)
    local not_ours = read_facts(r, place)
    if late then return answer(r, too_late, '', 0, 0) end
    if r.verb == 'x' then return answer(r, foreign, 'name', 0, 0) end
    if not_ours then return answer(r, companion_is_foreign, not_ours, 0, 0) end
    read_owner(r)
    if type(r.owner) == 'table' then return answer(r, foreign, kind_of(r), 0, 0) end
    if r.owner and is_no_lease(r) then return answer(r, foreign, 'string without an expiry', 0, 0) end
    r.key = string.sub(r.lease, #shared.prefix + 1)
    r.kept = r.kept == 'never' and endless or tonumber(r.kept or 0)
    -- The facts describe this very grant.
    r.known = r.token and r.owner and r.owner == r.named and not r.stranger
      and (not r.in_lease or r.in_lease == r.token)
    if r.verb == 'a' or r.verb == 'd' then return acquire(r, ttl, place, longest) end
    if r.verb == 'n' or r.verb == 'e' then return renew(r, ttl) end
    if r.verb == 'r' then return release(r, place) end
    return break_lease(r)
  end
end

-- name: apply
-- Applies a batch of requests, in order.  What it must answer is written down in include/holdfast/spi/store.h.
--
-- KEYS  kept, index, held, purged, log; then of each request: lease, facts, queue, places
-- ARGV  client, void (us), length of the prefix; then of each request: verb, holder, token, ttl (ms, -1: without
--       end), place (ms; of an acquire it may be followed by a blank and the longest_place), words (a note or a reason)
-- verb  a acquire, d acquire detached, n renew, e extend, r release, b break, x a key that may not be used
--
-- lease   string  who holds it: the part `layout`
-- facts   hash    token, holder, since, until, about, kept, q, w:<client>        docs/stores/redis.md
-- queue   zset    clients by ticket
-- places  zset    the same clients by when their place runs out (us)
--
-- Answers of each request: now (us), verdict, token, remaining, ahead, holder, with blanks between.  One request: that
--         text alone; more: a list.
-- include: begin
local keys, k, v = #KEYS, 6, 3
local answers
-- include: fast_path
-- include: basics
-- include: layout
-- include: rule

-- The batch, from the first request on that needs more than the part `fast_path`.
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
      .. r.ahead .. ' ' .. r.reply_owner
    v = v + 6
  end
  return keys == 9 and answers[1] or answers
end
-- include: error_reply

-- part: is_free
-- It was given back, and nobody waits for it.
local function is_free(lease, its_facts)
  local facts = read('HMGET', its_facts, 'holder', 'q') or {}
  return (facts[1] or '') == '' and not facts[2] and call('EXISTS', lease) == 0
end

-- name: list_leases
-- Rows for people.  Writes nothing.
--
-- KEYS     of each key: lease, facts, places
-- ARGV     1: also of keys that were given back and that nobody waits for.  0: those are seen with little work
-- Answers  of each key: owner ('': free), remaining (ms, -1: without end), token, holder, since, about, waiting,
--          type ('': a lease can be there; 'companion': it cannot, since its facts are of another type), ttl (ms, -1:
--          not known, or without end); an empty list for a key of which nothing is known, or wanted
--
-- What another program has replaced by something of another type counts as missing: other keys are listed all the same.
-- include: begin
-- include: basics
-- include: layout
-- include: is_free

-- What was left when its end was last set.  Less than is left now: somebody else has set it since.
local function ttl_of(till, left)
  local ttl = tonumber(string.match(till or '', '%+(%d+)$'))
  return ttl and left > 0 and left <= ttl and ttl or -1
end

local function row_of(k)
  local facts = read('HMGET', KEYS[k + 1], 'token', 'holder', 'since', 'about', 'kept', 'until')
  local kind, left = facts and '' or 'companion', 0
  facts = facts or {}
  local r = { lease = KEYS[k], token = facts[1], named = facts[2], till = facts[6] }
  read_owner(r)
  local owner = r.owner
  if type(owner) == 'table' or (owner and is_no_lease(r)) then
    kind, left = type(owner) == 'table' and kind_of(r) or 'string without an expiry', -1
    owner = '(not a lease: a ' .. kind .. ')'
  elseif owner then
    kind, left = '', left_of(r)
  end
  if owner or facts[5] or kind ~= '' then
    -- Else the facts are those of an earlier grant: of this one nothing is known.
    local known = (not owner or (owner == facts[2] and not r.stranger)) and facts or {}
    return { owner or '', left, known[1] or '0', known[2] or '', known[3] or '0', known[4] or '-',
      read('ZCOUNT', KEYS[k + 2], '(' .. now, '+inf') or 0, kind, ttl_of(known[6], left) }
  end
  return {}
end

local rows, all = {}, ARGV[1] == '1'
for k = 1, #KEYS, 3 do rows[#rows + 1] = (all or not is_free(KEYS[k], KEYS[k + 1])) and row_of(k) or {} end
return rows

-- name: complete_held
-- Which of these keys belong in `held` and are not there: a Holdfast without that index has granted them.
--
-- KEYS     index, held; then of each key: lease, facts
-- ARGV     length of the prefix; 1: adds them.  0: writes nothing
-- Answers  the numbers of those keys, from zero
-- include: begin
-- include: basics
-- include: is_free
local index, held, skip, missing = KEYS[1], KEYS[2], tonumber(ARGV[1]) + 1, {}
for k = 3, #KEYS, 2 do
  local key = string.sub(KEYS[k], skip)
  -- A purge may have forgotten the key since the caller has read the index.
  if not call('ZSCORE', held, key) and not is_free(KEYS[k], KEYS[k + 1]) and call('ZSCORE', index, key) then
    if ARGV[2] == '1' then call('ZADD', held, 0, key) end
    missing[#missing + 1] = (k - 3) / 2
  end
end
return missing

-- name: list_places
-- Who waits, the first in a queue first.  Writes nothing.
--
-- KEYS     of each key: facts, queue, places
-- ARGV     how many places at most
-- Answers  of each place: number of the key (from 0), client, holder, remaining (ms)
--
-- What another program has replaced by something of another type counts as missing: the places of other keys are listed
-- all the same.
-- include: begin
-- include: basics
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

-- name: purge_keys
-- Forgets keys that have been free long enough, and remembers how far their tokens had come.
--
-- KEYS     kept, index, held, purged; then of each key: lease, facts, queue, places
-- ARGV     for how long (us, -1: none goes), length of the prefix
-- Answers  how many keys, how many places that had run out
-- include: begin
-- include: basics
-- include: layout
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
  read_owner(r)
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

-- name: find_other_data
-- Which strings are no leases.  Writes nothing.
--
-- KEYS     of each key: lease, facts
-- Answers  the numbers of those keys, from zero
-- include: begin
-- include: basics
-- include: layout
local others = {}
for k = 1, #KEYS, 2 do
  local r = { lease = KEYS[k], named = try('HGET', KEYS[k + 1], 'holder') }
  read_owner(r)
  local is_long = type(r.owner) == 'table' and r.owner.kind and try('PTTL', r.lease) == -1
  if is_long or (type(r.owner) == 'string' and is_no_lease(r)) then others[#others + 1] = (k - 1) / 2 end
end
return others

-- name: check_rights
-- Which commands the user may not run.  Runs none of them, and writes nothing: so the server runs it also where it
-- refuses scripts that write, on a replica and when the memory is full.
--
-- ARGV     of each command: how many words it has, and these
-- Answers  a 1 for each that is forbidden, and a 0 for each other; nil: the server cannot say it, before 7.0
#!lua flags=no-writes,allow-stale
if not redis.acl_check_cmd then
  return false
end
local forbidden, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local known, may = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + words))
  forbidden[#forbidden + 1] = known and not may and 1 or 0
  at = at + words + 1
end
return forbidden
