-- SPDX-License-Identifier: Apache-2.0
-- The scripts that claim, renew and finish jobs.  ARGV and answers begin as jobs.lua says, and its parts are used here.

-- part: job_lock
-- The lock of a job is a lease, by the rule of leases.
-- A request for a lease.  A key that is none counts as held without end, as does one beside which others have written.
local decide  -- made when it is needed
local function lease(verb, key, holder, token, ttl, longest_place)
  local name = prefix .. key
  local r = { lease = name, facts = beside('facts', name), queue = beside('queue', name),
    places = beside('places', name), verb = verb, holder = holder, wanted = token, words = '' }
  decide = decide or lease_rule({ kept = ARGV[5], index = ARGV[6], held = ARGV[7], purged = ARGV[8], log = ARGV[9],
    client = ARGV[4], void = ARGV[1], prefix = prefix })
  decide(r, ttl, 0, longest_place)
  if r.verdict == foreign then r.reply_owner, r.remaining = '(not a lease: a ' .. r.reply_owner .. ')', -1 end
  if r.verdict == companion_is_foreign then r.reply_owner, r.remaining = written_by_others(r.reply_owner), -1 end
  return r
end

-- name: claim
-- ARGV     holder, ttl (ms), max_crashes, longest_place (ms, 0: all places count); then queues
-- Answers  now, what, recovered, lock_remaining (ms, -1: without end), blocker, next (ms), and unless there is nothing
--          the job
-- include: jobs_begin
-- include: layout
-- include: rule
-- include: job_row
-- include: job_changes
-- include: job_lock
local longest_idle, parked_per_claim, most_tries = 60000, 100, 2000
local poll_us, parked_us = 1000000, 60000000
local holder, ttl, max_crashes = ARGV[skip + 1], tonumber(ARGV[skip + 2]), tonumber(ARGV[skip + 3])
local longest_place = tonumber(ARGV[skip + 4])
local first_queue = skip + 5

-- Moves jobs that have become due to the set from which they are claimed; not all at once if they are many, because
-- others wait for the server meanwhile.  No answer depends on it, so it does not count as a write before a failure.
local function promote(queue)
  local ready, later, waiting = key_of('ready', queue), key_of('later', queue), key_of('waiting', queue)
  local due = call('ZRANGEBYSCORE', later, '-inf', now, 'LIMIT', 0, 1000)
  if #due > 0 then
    local words = {}
    for i, order in ipairs(due) do words[2 * i - 1], words[2 * i] = '0', order end
    call('ZADD', ready, unpack(words))
    call('ZREM', later, unpack(due))
  end
  for _, order in ipairs(call('ZRANGEBYSCORE', waiting, '-inf', now, 'LIMIT', 0, parked_per_claim)) do
    local key = read('HGET', key_of('job', id_of(order)), 'key')
    call('ZADD', ready, 0, order)
    call('ZREM', waiting, order)
    if key then call('ZREM', key_of('parked', key), order) end
  end
end

-- The job of an entry of a set, if it belongs there.  Somebody may have changed it by hand, or damaged it: such a job
-- may stand in a set in which save() does not look for it.  A damaged one is returned too, for its death.
local function job_in(word, queue, entry, id, state)
  local job = job_of(id)
  local is_there = job and job.state == state and job.queue == queue and (word ~= 'ready' or job.was.order == entry)
  if is_there and not job.damaged then return job end
  misplaced(job, key_of(word, queue), entry)
  return job and job.damaged and (job.state == state or job.damaged == 'state') and job or nil
end

local function next_expired()
  for q = first_queue, #ARGV do
    local id = call('ZRANGEBYSCORE', key_of('running', ARGV[q]), '-inf', now, 'LIMIT', 0, 1)[1]
    local job = id and job_in('running', ARGV[q], id, id, 'running')
    if job then return job end
  end
end

local function next_due()
  local best, of
  for q = first_queue, #ARGV do
    local order = call('ZRANGE', key_of('ready', ARGV[q]), 0, 0)[1]
    if order and (not best or order < best) then best, of = order, ARGV[q] end
  end
  if not best then return nil, false end
  return job_in('ready', of, best, id_of(best), 'queued'), true
end

-- ms until something may be due.
local function idle()
  local soonest = longest_idle
  for q = first_queue, #ARGV do
    for _, word in ipairs({ 'later', 'waiting', 'running' }) do
      local at = tonumber(call('ZRANGE', key_of(word, ARGV[q]), 0, 0, 'WITHSCORES')[2])
      if at then soonest = math.min(soonest, math.max(math.ceil((at - now_us) / 1000), 0)) end
    end
  end
  return whole(soonest)
end

local function answer(what, job, recovered, lock_remaining, blocker)
  local reply = { now, what, recovered and '1' or '0', whole(lock_remaining), blocker, '0' }
  if job then
    save(job)
    reply[7] = row_of(job)
  end
  return reply
end

local function start(job, lock, token)
  enter(job, 'running')
  set_all(job, { holder = holder, lock = lock, token = token, started_at = now,
    claim_until = whole(now_us + ttl * 1000) })
  add(job, 'attempt', 1)
  if job.unique == 'until_start' then set(job, 'slotted', '0') end
end

-- Nobody can run it, and it must not stop its queue: it is dead, and its error names the field.  As core::end_damaged().
local function end_damaged(job)
  local wakes = job.was.parked or (job.lock or '') ~= ''
  set(job, 'error', 'cannot run the job: its field ' .. job.damaged ..
    ' has a wrong type or an unknown value; repair it, then retry the job')
  forget_lock(job)
  enter(job, 'dead')
  if job.key == '' then set(job, 'slotted', '0') end  -- its key may be what is damaged
  note(job, 'failed', job.error)
  save(job)
  if wakes then unpark_next(job.key) end
end

-- Its last worker was not heard of again.  True: that was one too many.
local function has_crashed_too_often(job)
  add(job, 'crashes', 1)
  note(job, 'crashed', job.holder)
  if tonumber(job.crashes) < max_crashes then return false end
  set(job, 'error', 'its worker died ' .. job.crashes .. ' times')
  forget_lock(job)
  enter(job, 'dead')
  return true
end

-- It waits for its lock: so long, or until the lock is freed.  The first of those that wait is tried often, because the
-- lease may be one that no job holds; the others rely on it.
local function park(job, lock_remaining)
  local other = first_parked(job.key)
  local is_first = not other or order_of(job) < other.was.order
  local again = job.parked == '1'
  enter(job, 'queued')
  forget_lock(job)
  if not again then note(job, 'parked', '') end
  set(job, 'parked', '1')
  local pause = parked_us
  if is_first then pause = math.min(math.max(lock_remaining * 1000, 10000), poll_us) end
  set(job, 'due_at', whole(now_us + pause))
end

-- The first of those that wait has been started: now the next one is tried often.
local function poll_next(key)
  local job = first_parked(key)
  if not job or tonumber(job.due_at) <= now_us + poll_us then return end
  set(job, 'due_at', whole(now_us + poll_us))
  save(job)
end

-- The keys of which all leases are held: by whom, and how long.  Nothing changes that during one claim, so the next
-- job of that key and limit need not try each of them again.
local busy, tries = {}, 0

-- The first of its leases that is free: its name and what was granted.  Else nil, and why.
local function acquire(job, limit)
  local name = limit .. ':' .. job.key
  if busy[name] then return nil, nil, busy[name] end
  local why = { soonest = math.huge, blocker = '' }
  for n = 1, limit do
    local lock = limit == 1 and job.key or job.key .. '#' .. n
    local r = lease('a', lock, holder, '0', tonumber(job.lock_ttl), longest_place > 0 and longest_place or nil)
    tries = tries + 1
    if r.verdict == granted then return lock, r end
    if r.remaining >= 0 then why.soonest = math.min(why.soonest, r.remaining) end
    if n == 1 then why.blocker = r.reply_owner end
  end
  busy[name] = why
  return nil, nil, why
end

-- Runs it under the first of its leases that is free, or does what is to be done if none is.  Nil: it waits, or is dead.
local function take_lock(job, recovered)
  if job.damaged then return end_damaged(job) end
  local limit = tonumber(job.limit)
  if limit == 0 then
    start(job, '', '0')
    return answer('running', job, recovered, 0, '')
  end
  local lock, given, why = acquire(job, limit)
  if lock then
    local parked = job.was.parked
    start(job, lock, given.token)
    local reply = answer('running', job, recovered, given.remaining, '')
    if parked then poll_next(job.key) end
    return reply
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
  if job.damaged then return end_damaged(job) end
  if not has_crashed_too_often(job) then return take_lock(job, true) end
  local reply = answer('poisoned', job, true, 0, '')
  if held then unpark_next(job.key) end
  return reply
end

local function work()
  for q = first_queue, #ARGV do promote(ARGV[q]) end
  for _ = 1, parked_per_claim do
    local reply
    local expired = next_expired()
    if expired then
      reply = claim_expired(expired)
    else
      local due, any = next_due()
      if not any then return { now, 'nothing', '0', '0', '', idle() } end
      reply = due and take_lock(due, false)
    end
    if reply then return reply end
    if tries >= most_tries then break end  -- others want to be served too
  end
  return { now, 'nothing', '0', '0', '', '0' }
end
-- include: error_reply

-- name: renew_claims
-- ARGV     of each claim: id, holder, ttl (ms)
-- Answers  now; then of each whether it is the holder's still
-- include: jobs_begin
local function work()
  local answer = { now }
  for i = skip + 1, #ARGV, 3 do
    local name, ends = key_of('job', ARGV[i]), now_us + ARGV[i + 2] * 1000
    local job = read('HMGET', name, 'state', 'holder', 'claim_until', 'queue') or {}
    local state, holder, claim_until, queue = unpack(job)
    local held = state == 'running' and holder == ARGV[i + 1]
    if held and (tonumber(claim_until) or 0) < ends then
      if queue then write('ZREM', key_of('running', queue), ARGV[i]) end  -- as in save()
      write('HSET', name, 'claim_until', whole(ends))
      if queue then write('ZADD', key_of('running', queue), whole(ends), ARGV[i]) end
    end
    answer[#answer + 1] = held and '1' or '0'
  end
  return answer
end
-- include: error_reply

-- name: finish
-- ARGV     id, holder, to, in (ms), counts, error, lock, token
-- Answers  now, finished, released
-- include: jobs_begin
-- include: layout
-- include: rule
-- include: job_row
-- include: job_changes
-- include: job_lock
local id, holder, to, pause = ARGV[skip + 1], ARGV[skip + 2], ARGV[skip + 3], tonumber(ARGV[skip + 4])
local counts, why, lock, token = ARGV[skip + 5] == '1', ARGV[skip + 6], ARGV[skip + 7], ARGV[skip + 8]

local function finish(job)
  if job.state ~= 'running' or job.holder ~= holder then return false end
  enter(job, to)
  forget_lock(job)
  set(job, 'error', why)
  if to == 'queued' and not counts then
    add(job, 'attempt', -1)
    note(job, 'handed-back', why)
  elseif to == 'dropped' then
    add(job, 'attempt', -1)
  elseif to ~= 'done' then
    note(job, to == 'cancelled' and 'cancelled' or 'failed', why)
  end
  if to == 'queued' then
    set(job, 'due_at', whole(now_us + math.min(pause * 1000, exact)))
    if counts then set(job, 'run_at', job.due_at) end
  end
  save(job)
  return true
end

local function work()
  local job = job_of(id)
  local finished, is_free = job and finish(job), false
  if lock ~= '' then
    is_free = lease('r', lock, holder, token, 0).verdict == released
    if job then unpark_next(job.key) end
  end
  return { now, finished and '1' or '0', is_free and '1' or '0' }
end
-- include: error_reply
