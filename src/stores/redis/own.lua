-- SPDX-License-Identifier: Apache-2.0
-- The layout of Holdfast, which redis_exp_lock can share.

-- part: layout
-- Who holds a lease: a string with the holder in it and PX, as redis_exp_lock writes it.  Nothing else decides.
--
-- r  lease; of its facts: token, named, till; of the request: holder

-- Fills in r.owner.  False: nobody; a table: it is no lease, kind_of() has its type.
local longest_holder = 512
local function read_owner(r) r.owner = value_of(r.lease, longest_holder) end

-- What other programs keep in a string: it has no expiry, and no holder is named so, neither by us nor by
-- redis_exp_lock, whose lease without an expiry is a UUID.
local uuid = '^' .. string.rep('%x', 8) .. string.rep('%-' .. string.rep('%x', 4), 3) .. '%-' .. string.rep('%x', 12) .. '$'
local function is_no_lease(r)
  return r.owner ~= r.named and r.owner ~= r.holder and call('PTTL', r.lease) == -1
    and not string.find(r.owner, uuid) and not string.find(r.owner, '^host:.* pid:%d+ guid:%x+$')
end

-- ms, -1: without end.
local function left_of(r)
  if not r.owner then return 0 end
  local left = call('PTTL', r.lease)
  return left == -1 and -1 or math.max(left, 1)
end

-- The holder's from now on.
local function set_owner(r, ttl)
  if ttl < 0 then write('SET', r.lease, r.holder) else write('SET', r.lease, r.holder, 'PX', whole(ttl)) end
end

-- It is the holder's, and lasts so long.
local function set_end(r, ttl)
  if ttl < 0 then write('PERSIST', r.lease) else write('PEXPIRE', r.lease, whole(ttl)) end
end

-- Others write markers for jobs that are queued.
local marks, stranger = false, ''

-- part: fast_path
-- Most requests meet nobody: they are settled by this loop, without a function, a table or a pcall, as making those
-- takes longer than deciding.  Numbers stay texts where they can, for the same reason.  The first request that is not
-- so simple, and all behind it, are for the functions that follow.
while k < keys do
  local lease, facts = KEYS[k], KEYS[k + 1]
  local verb, holder, wanted, ttl = ARGV[v + 1], ARGV[v + 2], ARGV[v + 3], ARGV[v + 4]
  local known = try('HMGET', facts, 'token', 'holder', 'q', 'kept')
  local token, named, kept = known[1], known[2], tonumber(known[4])
  local answer, noted
  -- Nobody waits, and what is kept beside the lease stays long enough (`kept` is no number: for ever).  In each case
  -- what makes the difference is written first: if it may not be, nothing was, and the same is tried again below.
  if token and kept and not known[3] then
    if verb == 'a' then
      local void = ARGV[2]
      if (named == '' or named == holder) and #token == #now and token < now
        and ttl ~= '-1' and ttl / 1000 < kept - time[1] - 86400
        and (#void > #now or (#void == #now and void >= now))
        and (try('SET', lease, holder, 'PX', ttl, 'NX') or {}).ok then
        noted = try('HSET', facts, 'token', now, 'holder', holder, 'since', now, 'until', now .. '+' .. ttl,
          'about', '-' .. ARGV[v + 6])
        if type(noted) == 'number' then noted = try('ZADD', KEYS[3], 0, string.sub(lease, ARGV[3] + 1)) end
        answer = now .. ' 0 ' .. now .. ' ' .. ttl .. ' 0 '
      end
    elseif named == holder and holder ~= '' and (wanted == '0' or wanted == token) and try('GET', lease) == holder then
      if verb == 'r' then
        if try('DEL', lease) == 1 then
          noted = try('HSET', facts, 'holder', '', 'until', now .. '+0')
          if type(noted) == 'number' then noted = try('ZREM', KEYS[3], string.sub(lease, ARGV[3] + 1)) end
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
  if keys == 9 then return answer end
  answers, wrote = answers or {}, true
  answers[#answers + 1] = answer
  k, v = k + 4, v + 6
end
if k > keys then return answers end
