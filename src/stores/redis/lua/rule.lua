-- SPDX-License-Identifier: Apache-2.0
-- What becomes of a request for a lease: include/holdfast/spi/store.h says it.  For batches of them, and for jobs, whose
-- locks are leases.
local granted, released, busy, lost, too_late, foreign, companion_is_foreign = 0, 1, 2, 3, 4, 5, 6

-- shared  the names of kept, index, held, purged and log, and prefix; who asks: client, void (us)
local function lease_rule(shared)
  local kept, index, held, purged, log = shared.kept, shared.index, shared.held, shared.purged, shared.log
  local client = shared.client
  local endless = math.huge
  local latest_end = 144115188075855  -- ms since 1970: of a lease that is extended again and again
  local far = 10000000000000  -- in `kept`, of a lease without end: this, and the second when it was looked at
  local late = false  -- so is all that follows: what is asked of a key takes effect in its order

  -- A lease without end that somebody else took away would be remembered for ever.
  local function look_after(key)
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

  -- Of what is over for good we remember how far tokens had come.  A lease of somebody else's that one of us has met is
  -- looked at again in its turn.
  local function sweep()
    local seen_long_ago = call('ZRANGEBYSCORE', kept, far, whole(far + now_s - day_s), 'LIMIT', 0, 1)[1]
    if seen_long_ago then look_after(seen_long_ago) end
    local over = call('ZRANGEBYSCORE', kept, '-inf', now_s, 'WITHSCORES', 'LIMIT', 0, 2)
    for i = 1, #over, 2 do
      local r = { lease = shared.prefix .. over[i] }
      look(r)
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

  -- `held` has each key that somebody holds, or held when he was last heard of, or waits for.
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

  local function write_down(r, event, reason)
    write('XADD', log, 'MAXLEN', '~', 10000, '*', 'at', now, 'key', r.key, 'event', event,
      'holder', r.named, 'token', r.token or '0', 'by', r.holder, 'reason', reason)
  end

  -- What is left of a live lease, and never less than before.
  local function lengthen(r, ttl, extend)
    local left = left_of(r)
    local want = ttl
    if extend and ttl >= 0 then want = math.min(left + ttl, latest_end - math.floor(now_us / 1000)) end
    if left == -1 or (want >= 0 and want <= left) then
      if r.overwritten then stretch(r, left) end
      return left
    end
    stretch(r, want)
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

  local function drop_dead(r)
    if not r.waited then return end
    for _, who in ipairs(call('ZRANGEBYSCORE', r.places, '-inf', now)) do leave(r, who) end
  end

  -- Those of others that end after `latest` do not count (nil: all count).
  local function drop_uncounted(r, latest)
    if not (r.waited and latest) then return end
    for _, who in ipairs(call('ZRANGEBYSCORE', r.places, '(' .. whole(latest), '+inf')) do
      if who ~= client then leave(r, who) end
    end
  end

  -- Who is first of those that count, and until when.  One without a place is what an eviction has left of somebody.
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
  local function ring(r)
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

  local function answer(r, verdict, told, remaining, ahead)
    r.verdict, r.told, r.remaining, r.ahead = verdict, told, remaining, ahead
  end

  local function has_lost(r) return answer(r, lost, r.owner or r.named or '', left_of(r), 0) end

  local function is_holders(r) return r.owner and r.owner == r.holder and not r.stranger end

  local function acquire(r, ttl, place, longest)
    late = less(shared.void, now)
    if late then return answer(r, too_late, '', 0, 0) end
    drop_dead(r)
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
    put(r, ttl)
    write('HSET', r.facts, 'token', r.token, 'holder', r.holder, 'since', now, 'until', now .. '+' .. whole(ttl),
      'about', about(r))
    keep_for(r, ttl)
    if head then leave(r, client) end
    drop_uncounted(r, latest)
    list_key(r)
    if before and before ~= '' and before ~= r.holder then
      write_down({ key = r.key, named = before, token = last, holder = r.holder }, 'taken-over', '')
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
    ring(r)
    if not r.waited then unlist_key(r) end
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

  -- r  lease, facts, queue, places, verb, holder, wanted (a token), words.  Fills in verdict, told (a holder),
  --    remaining, ahead, and token.
  return function(r, ttl, place, longest)
    local not_ours = read_facts(r, place)
    if late then return answer(r, too_late, '', 0, 0) end
    if r.verb == 'x' then return answer(r, foreign, 'name', 0, 0) end
    if not_ours then return answer(r, companion_is_foreign, not_ours, 0, 0) end
    look(r)
    if type(r.owner) == 'table' then return answer(r, foreign, kind_of(r), 0, 0) end
    if r.owner and is_no_lease(r) then return answer(r, foreign, 'string without an expiry', 0, 0) end
    r.key = string.sub(r.lease, #shared.prefix + 1)
    r.kept = r.kept == 'never' and endless or tonumber(r.kept or 0)
    -- The facts tell of this very grant.
    r.known = r.token and r.owner and r.owner == r.named and not r.stranger
      and (not r.in_lease or r.in_lease == r.token)
    if r.verb == 'a' or r.verb == 'd' then return acquire(r, ttl, place, longest) end
    if r.verb == 'n' or r.verb == 'e' then return renew(r, ttl) end
    if r.verb == 'r' then return release(r, place) end
    return break_lease(r)
  end
end
