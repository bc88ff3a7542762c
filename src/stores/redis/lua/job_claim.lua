-- SPDX-License-Identifier: Apache-2.0
-- asked    holder, ttl (ms), max_crashes, longest_place (ms, 0: all places count); then queues
-- Answers  now, what, recovered, lock_remaining (ms, -1: without end), blocker, next (ms), and unless there is nothing
--          the job
local longest_idle, parked_per_claim, most_looks = 60000, 100, 2000
local holder, ttl, max_crashes = ARGV[asked + 1], tonumber(ARGV[asked + 2]), tonumber(ARGV[asked + 3])
local longest_place = tonumber(ARGV[asked + 4])
local first_queue = asked + 5

-- What has become due goes to where it is claimed from.  Not all at once, if it is very much: one claim may cost only
-- so much.  No answer depends on it, so a failure behind it is none that came half-way.
local function promote(queue)
  local ready, later, waiting = named('ready', queue), named('later', queue), named('waiting', queue)
  local due = call('ZRANGEBYSCORE', later, '-inf', now, 'LIMIT', 0, 1000)
  if #due > 0 then
    local words = {}
    for i, order in ipairs(due) do words[2 * i - 1], words[2 * i] = '0', order end
    call('ZADD', ready, unpack(words))
    call('ZREM', later, unpack(due))
  end
  for _, order in ipairs(call('ZRANGEBYSCORE', waiting, '-inf', now, 'LIMIT', 0, parked_per_claim)) do
    local key = read('HGET', named('job', id_of(order)), 'key')
    call('ZADD', ready, 0, order)
    call('ZREM', waiting, order)
    if key then call('ZREM', named('parked', key), order) end
  end
end

local function next_expired()
  for q = first_queue, #ARGV do
    local running = named('running', ARGV[q])
    local id = call('ZRANGEBYSCORE', running, '-inf', now, 'LIMIT', 0, 1)[1]
    local job = id and job_of(id)
    if job then return job end
    if id then write('ZREM', running, id) end
  end
end

local function next_due()
  local best, of
  for q = first_queue, #ARGV do
    local order = call('ZRANGE', named('ready', ARGV[q]), 0, 0)[1]
    if order and (not best or order < best) then best, of = order, ARGV[q] end
  end
  if not best then return nil, false end
  local job = job_of(id_of(best))
  if not job then write('ZREM', named('ready', of), best) end
  return job, true
end

-- ms until something may be due.
local function idle()
  local soonest = longest_idle
  for q = first_queue, #ARGV do
    for _, word in ipairs({ 'later', 'waiting', 'running' }) do
      local at = tonumber(call('ZRANGE', named(word, ARGV[q]), 0, 0, 'WITHSCORES')[2])
      if at then soonest = math.min(soonest, math.max(math.ceil((at - now_us) / 1000), 0)) end
    end
  end
  return whole(soonest)
end

local function answer(what, job, recovered, lock_remaining, blocker)
  local told = { now, what, recovered and '1' or '0', whole(lock_remaining), blocker, '0' }
  if job then
    save(job)
    told[7] = told_of(job)
  end
  return told
end

local function start(job, lock, token)
  enter(job, 'running')
  set(job, 'holder', holder)
  set(job, 'lock', lock)
  set(job, 'token', token)
  set(job, 'started_at', now)
  add(job, 'attempt', 1)
  if job.unique == 'until_start' then set(job, 'slotted', '0') end
  set(job, 'claim_until', whole(now_us + ttl * 1000))
end

-- Its last worker was not heard of again.  True: that was one too many.
local function has_crashed_too_often(job)
  add(job, 'crashes', 1)
  note(job, 'crashed', job.holder)
  if tonumber(job.crashes) < max_crashes then return false end
  set(job, 'error', 'its worker died ' .. job.crashes .. ' times')
  let_go_of_lock(job)
  enter(job, 'dead')
  return true
end

-- It waits for its lock: so long, or until it is freed.  The first of those that wait looks often, so that a lease
-- which is no job's is seen to end; the others count on it.
local function park(job, lock_remaining)
  local other = first_parked(job.key)
  local is_first = not other or order_of(job) < other.was.order
  local again = job.parked == '1'
  enter(job, 'queued')
  let_go_of_lock(job)
  if not again then note(job, 'parked', '') end
  set(job, 'parked', '1')
  local pause = parked_us
  if is_first then pause = math.min(math.max(lock_remaining * 1000, 10000), scout_us) end
  set(job, 'due_at', whole(now_us + pause))
end

-- The first of those that wait has been started: the next one looks in its place.
local function scout_next(key)
  local job = first_parked(key)
  if not job or tonumber(job.due_at) <= now_us + scout_us then return end
  set(job, 'due_at', whole(now_us + scout_us))
  save(job)
end

-- Of which keys all leases are held: by whom, and how long.  Nobody else comes between two looks of one claim, so the
-- next job of that key and limit need not ask for each of them again.
local busy, looks = {}, 0

-- The first of its leases that is free: its name and what was granted.  Else nil, and why.
local function acquire(job, limit)
  local name = limit .. ':' .. job.key
  if busy[name] then return nil, nil, busy[name] end
  local why = { soonest = math.huge, blocker = '' }
  for n = 1, limit do
    local lock = limit == 1 and job.key or job.key .. '#' .. n
    local r = lease('a', lock, holder, '0', tonumber(job.lock_ttl), longest_place > 0 and longest_place or nil)
    looks = looks + 1
    if r.verdict == granted then return lock, r end
    if r.remaining >= 0 then why.soonest = math.min(why.soonest, r.remaining) end
    if n == 1 then why.blocker = r.told end
  end
  busy[name] = why
  return nil, nil, why
end

-- Runs it under the first of its leases that is free, or does what is to be done if none is.  Nil: it waits.
local function take_lock(job, recovered)
  local limit = tonumber(job.limit)
  if limit == 0 then
    start(job, '', '0')
    return answer('running', job, recovered, 0, '')
  end
  local lock, given, why = acquire(job, limit)
  if lock then
    local parked = job.was.parked
    start(job, lock, given.token)
    local told = answer('running', job, recovered, given.remaining, '')
    if parked then scout_next(job.key) end
    return told
  end
  local blocker = why.blocker
  -- One that was started once is never dropped for its lock.
  local waits = (job.started_at or '0') ~= '0'
  if not waits and job.on_conflict == 'drop' then
    set(job, 'error', blocker)
    enter(job, 'dropped')
    return answer('dropped', job, recovered, 0, blocker)
  end
  if not waits and job.on_conflict == 'raise' then
    start(job, '', '0')
    return answer('raised', job, recovered, 0, blocker)
  end
  park(job, why.soonest)
  save(job)
  return nil
end

local function claim_expired(job)
  local held = (job.lock or '') ~= ''
  if held then
    lease('r', job.lock, job.holder, job.token, 0)
    busy = {}
  end
  if not has_crashed_too_often(job) then return take_lock(job, true) end
  local told = answer('poisoned', job, true, 0, '')
  if held then unpark_next(job.key) end
  return told
end

local function work()
  for q = first_queue, #ARGV do promote(ARGV[q]) end
  for _ = 1, parked_per_claim do
    local told
    local expired = next_expired()
    if expired then
      told = claim_expired(expired)
    else
      local due, any = next_due()
      if not any then return { now, 'nothing', '0', '0', '', idle() } end
      told = due and take_lock(due, false)
    end
    if told then return told end
    if looks >= most_looks then break end  -- others want to be served too
  end
  return { now, 'nothing', '0', '0', '', '0' }
end
