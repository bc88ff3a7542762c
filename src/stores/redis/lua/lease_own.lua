-- SPDX-License-Identifier: Apache-2.0
-- Who holds a lease: a string with the holder in it and PX, as redis_exp_lock writes it.  Nothing else decides.
--
-- r  lease; of its facts: token, named, till; of who asks: holder

-- Fills in r.owner.  False: nobody; a table: it is no lease, kind_of() says what it is.
local longest_holder = 512
local function look(r) r.owner = value_of(r.lease, longest_holder) end

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
local function put(r, ttl)
  if ttl < 0 then write('SET', r.lease, r.holder) else write('SET', r.lease, r.holder, 'PX', whole(ttl)) end
end

-- It is the holder's, and lasts so long.
local function stretch(r, ttl)
  if ttl < 0 then write('PERSIST', r.lease) else write('PEXPIRE', r.lease, whole(ttl)) end
end

-- Others write markers for jobs that are queued.
local marks, stranger = false, ''
