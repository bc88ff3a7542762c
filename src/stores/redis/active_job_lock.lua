-- SPDX-License-Identifier: Apache-2.0
-- The layout of the Ruby gem active_job_lock: works beside it, on its keys.

-- part: layout
-- Who holds a lease, beside Ruby processes with active_job_lock: a string that begins with the second until which it is
-- held, or is `true`.  Ruby reads it with to_i, which stops at the first character that is no digit, and takes it over
-- when that second is over.
--
-- Ours is SECOND:TOKEN:ENDS:HOLDER.  ENDS (us) is until when its holder believes in it, SECOND the same rounded up: no
-- Ruby process takes over what one of us believes in.  Without end: true:TOKEN::HOLDER.
--
-- r  lease; of its facts: token, named, till; of the request: holder
local stranger = 'another program (active_job_lock)'

-- Ruby's have no expiry either.
local function is_no_lease() return false end

-- A contender of Ruby's that loses has nevertheless written its own second over ours (GETSET).  Then the facts say who
-- holds it, as long as that lease lasts.
local function read_overwritten(r)
  local from, ttl = string.match(r.till or '', '^(%d+)%+(%-?%d+)$')
  if not from or not r.named or r.named == '' then return end
  local ends = tonumber(ttl) >= 0 and from + ttl * 1000
  if ends and ends <= now_us then return end
  r.owner, r.in_lease, r.ends, r.overwritten = r.named, r.token, ends, true
end

-- Fills in r.owner.  False: nobody; a table: it is no lease, kind_of() has its type.
local longest_value = 576  -- a holder of 512 bytes, behind three numbers
local function read_owner(r)
  local value = value_of(r.lease, longest_value)
  r.owner = false
  if type(value) ~= 'string' then
    r.owner = value
    return
  end
  local token, ends, holder = string.match(value, '^%w+:(%d+):(%d*):(.*)$')
  if holder then
    if ends == '' or less(now, ends) then r.owner, r.in_lease, r.ends = holder, token, tonumber(ends) end
    return
  end
  local second = string.match(value, '^%s*(%d+)')
  if second then read_overwritten(r) end
  -- Without digits it is somebody's for ever.  Ruby with a timeout reads zero there, and takes it over: we do not.
  if r.owner or (second and tonumber(second) < now_s) then return end
  r.owner, r.stranger = stranger, true
  r.ends = second and (second + 1) * 1000000
end

-- ms, -1: without end.
local function left_of(r)
  if not r.owner then return 0 end
  return r.ends and math.max(math.ceil((r.ends - now_us) / 1000), 1) or -1
end

-- The holder's from now on.
local function set_owner(r, ttl)
  if ttl < 0 then
    write('SET', r.lease, 'true:' .. r.token .. '::' .. r.holder)
  else
    local ends = now_us + ttl * 1000
    local second = math.ceil(ends / 1000000)
    write('SET', r.lease, whole(second) .. ':' .. r.token .. ':' .. whole(ends) .. ':' .. r.holder, 'PXAT',
      whole((second + 2) * 1000))
  end
end

-- It is the holder's, and lasts so long.
local set_end = set_owner

-- Others write markers for jobs that are queued.
local marks = true

-- part: fast_path
-- Empty: no request is decided without reading what Ruby may have written.
