-- SPDX-License-Identifier: Apache-2.0
-- Jobs, by the rule of src/core/job_rule.cpp.  docs/stores/redis.md has the table of keys.
--
-- ARGV     of each script: void (us), base (of the names), prefix (of leases), client, kept, index, held, purged, log;
--          then the words that the comment of the script lists
-- Answers  now (us), then what the comment of the script lists.  'late': it came after void, and nothing was done.

-- part: jobs_begin
-- include: begin
-- include: basics
if less(ARGV[1], now) then return { now, 'late' } end
local base, prefix = ARGV[2], ARGV[3]
local skip = 9  -- words of ARGV that all scripts have

local function key_of(word, text) return base .. word .. ':' .. text end

-- part: job_row
-- One job: a table of its fields, all texts.
local longest_trail = 8000
local exact = 9007199254740991  -- larger whole numbers are not

-- In this order they are claimed.  A text, as (priority, run_at, id) has more bits than a score: a set whose scores are
-- all the same is in the order of its members.
local function order_of(job)
  local at = math.max(0, math.min(tonumber(job.run_at), exact))
  return string.format('%010.0f%017.0f%016.0f', job.priority + 2147483648, at, job.id)
end
local function id_of(order) return whole(tonumber(string.sub(order, -16))) end

-- Remembers what decides in which sets it is, before that is changed.
local function remember(job)
  job.was = { state = job.state, parked = job.parked == '1', order = order_of(job), slotted = job.slotted == '1' }
  job.changed = {}
end

-- All but the arguments, which may be long: only an answer needs them.
local fields_of_job = { 'state', 'name', 'queue', 'key', 'priority', 'enqueued_at', 'run_at', 'due_at', 'started_at',
  'finished_at', 'attempt', 'crashes', 'max_attempts', 'lock_ttl', 'lock_fixed', 'limit', 'on_conflict', 'unique',
  'slotted', 'parked', 'holder', 'lock', 'token', 'claim_until', 'error', 'duplicates', 'trail', 'marker' }

-- A table of these, all texts; nil: there is none.
local function job_of(id)
  local values = read('HMGET', key_of('job', id), unpack(fields_of_job))
  if not (values and values[1]) then return nil end
  local job = {}
  for i, field in ipairs(fields_of_job) do job[field] = values[i] or nil end
  job.id = id
  remember(job)
  return job
end

local function set(job, field, value)
  job[field] = value
  job.changed[field] = value
end

local function add(job, field, n) set(job, field, whole((tonumber(job[field]) or 0) + n)) end

-- We enqueue at most 1 MiB of them.  What another program wrote may be longer than the client accepts in an answer:
-- then the answer has their length, which is no JSON, so that only this job fails.
local longest_args = 2 * 1024 * 1024
local function args_of(job)
  local args = call('HGET', key_of('job', job.id), 'args') or nil
  if not args or #args <= longest_args then return args end
  return '(' .. #args .. ' bytes of arguments, more than a job can have)'
end

-- As the answer: id, then names and values.
--
-- REQUIRES: it has not been erased.
local function row_of(job)
  job.args = job.args or args_of(job)
  local row = { job.id }
  for field, value in pairs(job) do
    if type(value) == 'string' and field ~= 'id' then
      row[#row + 1] = field
      row[#row + 1] = value
    end
  end
  return row
end

local function note(job, event, detail)
  local trail = (job.trail or '') .. string.gsub(now .. ' ' .. event .. ' ' .. detail, '\n', ' ') .. '\n'
  if #trail > longest_trail then
    trail = string.sub(trail, string.find(trail, '\n', #trail - longest_trail + 1, true) + 1)
  end
  set(job, 'trail', trail)
end

local function has_slot(job) return job.unique ~= 'no' end

local function is_over(state) return state ~= 'queued' and state ~= 'running' end

-- part: job_changes
-- Changes a job, and moves it to where it belongs then.
local function enter(job, state)
  set(job, 'state', state)
  set(job, 'finished_at', is_over(state) and now or '0')
  set(job, 'parked', '0')
  set(job, 'claim_until', '0')
  local keeps = state == 'dead' and job.unique == 'until_success'
  if is_over(state) and not keeps then set(job, 'slotted', '0') end
end

local function forget_lock(job)
  set(job, 'lock', '')
  set(job, 'token', '0')
end

-- In which sets it is: by its order if it is due, else by when it will be due; one that waits for its lock also by key.
local function add_to_sets(job)
  if job.state == 'queued' then
    local order = order_of(job)
    if tonumber(job.due_at) <= now_us then
      write('ZADD', key_of('ready', job.queue), 0, order)
    elseif job.parked == '1' then
      write('ZADD', key_of('waiting', job.queue), job.due_at, order)
      write('ZADD', key_of('parked', job.key), 0, order)
    else
      write('ZADD', key_of('later', job.queue), job.due_at, order)
    end
  elseif job.state == 'running' then
    write('ZADD', key_of('running', job.queue), job.claim_until, job.id)
  elseif job.state ~= 'dead' then
    write('ZADD', base .. 'over', job.finished_at, job.id)
  end
end

-- One that is due by now may have been moved, or not yet.
local function remove_from_sets(job)
  local was = job.was
  if was.state == 'queued' then
    write('ZREM', key_of('ready', job.queue), was.order)
    write('ZREM', key_of('later', job.queue), was.order)
    if was.parked then
      write('ZREM', key_of('waiting', job.queue), was.order)
      write('ZREM', key_of('parked', job.key), was.order)
    end
  elseif was.state == 'running' then
    write('ZREM', key_of('running', job.queue), job.id)
  elseif was.state then
    write('ZREM', base .. 'over', job.id)
  end
end

-- The slot counts only as long as its job is there and has it.
local function in_slot(key)
  local id = call('GET', key_of('slot', key))
  local job = id and job_of(id)
  return job and job.slotted == '1' and job.key == key and job or nil, id
end

local function leave_slot(job)
  local slot = key_of('slot', job.key)
  if call('GET', slot) == job.id then write('DEL', slot) end
end

-- What active_job_lock would have written when it enqueued the job, for Ruby to see: while it is queued and has its
-- slot.
local function marker_of(key) return prefix .. 'loner:' .. key end

local function unmark(job)
  local marker = marker_of(job.key)
  if try('GET', marker) == job.marker then write('DEL', marker) end
  job.marker = ''
end

local function mark(job)
  local value = 'true'
  if job.lock_fixed == '1' and job.lock_ttl ~= '-1' then value = whole(now_s + math.ceil(job.lock_ttl / 1000)) end
  write('SET', marker_of(job.key), value)
  job.marker = value
end

-- Somebody else's, and it counts.
local function is_marked(key)
  local value = try('GET', marker_of(key))
  if type(value) ~= 'string' then return value and true end
  local second = string.match(value, '^%s*(%d+)')
  return not second or tonumber(second) >= now_s
end

local function update_marker(job)
  local wanted = job.slotted == '1' and job.state == 'queued'
  if wanted and (job.marker or '') == '' and not is_marked(job.key) then
    mark(job)
  elseif not wanted and (job.marker or '') ~= '' then
    unmark(job)
  else
    return
  end
  write('HSET', key_of('job', job.id), 'marker', job.marker)
end

-- Begins with what only takes away: a server whose memory is full does that, and then the rest of the script, so jobs
-- are finished there.
--
-- REQUIRES: something was changed.
local function save(job)
  local new, words = job.changed, {}
  local moves = new.state or new.due_at or new.run_at or new.priority or new.claim_until
  for field, value in pairs(new) do
    words[#words + 1] = field
    words[#words + 1] = value
  end
  if moves then remove_from_sets(job) end
  write('HSET', key_of('job', job.id), unpack(words))
  if moves then add_to_sets(job) end
  if job.slotted == '1' and not job.was.slotted then write('SET', key_of('slot', job.key), job.id) end
  if job.slotted ~= '1' and job.was.slotted then leave_slot(job) end
  if marks and has_slot(job) then update_marker(job) end
  remember(job)
end

local function erase(job)
  write('DEL', key_of('job', job.id))
  remove_from_sets(job)
  write('ZREM', base .. 'ids', job.id)
  if job.key ~= '' then write('ZREM', key_of('of', job.key), job.id) end
  if job.was.slotted then leave_slot(job) end
  if (job.marker or '') ~= '' then unmark(job) end
end

-- The first in order of those that wait for the lock of a key and are not due by themselves.
local function first_parked(key)
  local parked = key_of('parked', key)
  for _ = 1, 100 do
    local order = call('ZRANGE', parked, 0, 0)[1]
    if not order then return nil end
    local job = job_of(id_of(order))
    if job and tonumber(job.due_at) > now_us then return job end
    if job then
      remove_from_sets(job)
      add_to_sets(job)
    else
      write('ZREM', parked, order)
    end
  end
end

-- Its lock may be free: the first of those that wait for it is due.
local function unpark_next(key)
  local job = first_parked(key)
  if not job then return end
  set(job, 'due_at', job.run_at)
  save(job)
end

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

-- name: enqueue
-- ARGV     name, queue, args, priority, at (us, 0: now), in (ms), max_attempts, key, lock_ttl (ms, -1: without end),
--          lock_fixed, limit, on_conflict, unique, tick_name, tick, window (ms), minds_holder
-- Answers  now, what, id, state, since, holder
-- include: jobs_begin
-- include: layout
-- include: job_row
-- include: job_changes
local function work()
  local new = { state = 'queued', enqueued_at = now }
  local fields = { 'name', 'queue', 'args', 'priority', 'at', 'in', 'max_attempts', 'key', 'lock_ttl', 'lock_fixed',
    'limit', 'on_conflict', 'unique', 'tick_name', 'tick', 'window', 'minds_holder' }
  for i, field in ipairs(fields) do new[field] = ARGV[skip + i] end
  local run_at = new.at ~= '0' and new.at or whole(now_us + math.min(new['in'] * 1000, exact))

  local function duplicate(there)
    add(there, 'duplicates', 1)
    return { now, 'duplicate', there.id, there.state, there.enqueued_at, '' }
  end

  -- One that waits for its lock goes on doing so, unless its time has not come: then others are before it.
  local function replace(there)
    for _, field in ipairs({ 'args', 'priority', 'max_attempts' }) do set(there, field, new[field]) end
    set(there, 'run_at', run_at)
    if tonumber(run_at) > now_us then set(there, 'parked', '0') end
    if there.parked ~= '1' then set(there, 'due_at', run_at) end
    set(there, 'attempt', '0')
    set(there, 'crashes', '0')
    set(there, 'error', '')
    note(there, 'replaced', '')
  end

  local stale  -- its slot names a job that is gone
  local window, tick_key, tick = tonumber(new.window), key_of('tick', new.tick_name), new.tick
  if window > 0 then tick = whole(now_us - now_us % (window * 1000)) end
  if new.tick_name ~= '' then
    local last = call('HMGET', tick_key, 'tick', 'job', 'at')
    if last[1] and not below(last[1], tick) then
      local there = job_of(last[2] or '0')
      if not there then return { now, 'duplicate', last[2] or '0', 'done', last[3] or '0', '' } end
      local answer = duplicate(there)
      save(there)
      return answer
    end
  end

  if has_slot(new) then
    local there, id = in_slot(new.key)
    if there then
      local answer = duplicate(there)
      if new.on_conflict == 'replace' and there.state == 'queued' then
        replace(there)
        answer[2] = 'replaced'
      end
      local parked = there.was.parked
      save(there)
      if parked and there.parked ~= '1' then unpark_next(there.key) end
      return answer
    end
    stale = id
    if marks and not stale and is_marked(new.key) then return { now, 'locked', '0', 'queued', '0', stranger } end
  end

  if new.minds_holder == '1' then
    local r = { lease = prefix .. new.key }
    local facts = beside('facts', r.lease)
    local known = read('HMGET', facts, 'token', 'holder', 'until')
    if not known then return { now, 'locked', '0', 'queued', '0', written_by_others(facts) } end
    r.token, r.named, r.till = unpack(known)
    read_owner(r)
    if type(r.owner) == 'table' then r.owner = '(not a lease: a ' .. kind_of(r) .. ')' end
    if r.owner then return { now, 'locked', '0', 'queued', '0', r.owner } end
  end

  local job = { id = whole(write('INCR', base .. 'last')), queue = new.queue, key = new.key, priority = new.priority,
    run_at = run_at, unique = new.unique }
  remember(job)
  if marks and stale then write('DEL', marker_of(new.key)) end  -- it was that job's
  for _, field in ipairs({ 'state', 'enqueued_at', 'name', 'queue', 'args', 'priority', 'max_attempts', 'key',
    'lock_ttl', 'lock_fixed', 'limit', 'on_conflict', 'unique' }) do
    set(job, field, new[field])
  end
  set(job, 'run_at', run_at)
  set(job, 'due_at', run_at)
  if has_slot(new) then set(job, 'slotted', '1') end
  save(job)
  write('ZADD', base .. 'ids', job.id, job.id)
  if job.key ~= '' then write('ZADD', key_of('of', job.key), job.id, job.id) end
  if new.tick_name ~= '' then
    local ends = window > 0 and whole(tick + window * 1000) or '0'
    write('HSET', tick_key, 'tick', tick, 'job', job.id, 'at', now, 'by', '', 'until', ends)
    if window > 0 then
      write('ZADD', base .. 'windows', ends, new.tick_name)
    else
      write('ZREM', base .. 'windows', new.tick_name)
    end
  end
  return { now, 'enqueued', job.id, 'queued', now, '' }
end
-- include: error_reply

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

local function next_expired()
  for q = first_queue, #ARGV do
    local running = key_of('running', ARGV[q])
    local id = call('ZRANGEBYSCORE', running, '-inf', now, 'LIMIT', 0, 1)[1]
    local job = id and job_of(id)
    if job then return job end
    if id then write('ZREM', running, id) end
  end
end

local function next_due()
  local best, of
  for q = first_queue, #ARGV do
    local order = call('ZRANGE', key_of('ready', ARGV[q]), 0, 0)[1]
    if order and (not best or order < best) then best, of = order, ARGV[q] end
  end
  if not best then return nil, false end
  local job = job_of(id_of(best))
  if not job then write('ZREM', key_of('ready', of), best) end
  return job, true
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
-- ARGV     ttl (ms); then of each claim: id, holder
-- Answers  now; then of each whether it is the holder's still
-- include: jobs_begin
local function work()
  local ends, answer = now_us + ARGV[skip + 1] * 1000, { now }
  for i = skip + 2, #ARGV, 2 do
    local name = key_of('job', ARGV[i])
    local job = read('HMGET', name, 'state', 'holder', 'claim_until', 'queue') or {}
    local state, holder, claim_until, queue = unpack(job)
    local held = state == 'running' and holder == ARGV[i + 1]
    if held and tonumber(claim_until) < ends then
      write('ZREM', key_of('running', queue), ARGV[i])  -- as in save()
      write('HSET', name, 'claim_until', whole(ends))
      write('ZADD', key_of('running', queue), whole(ends), ARGV[i])
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

-- name: list_jobs
-- ARGV     id (0: any), key, name, queue, state (of these empty: any), before (0: from the newest), most
-- Answers  now, the id behind which to go on (0: that was all), then jobs.  A page ends after so many jobs were read, or
--          so many bytes of arguments returned: the client accepts no answer above 64 MiB (connection.cpp).
-- include: jobs_begin
-- include: job_row
local page, page_bytes = 200, 8 * 1024 * 1024
local id, key, name, queue = ARGV[skip + 1], ARGV[skip + 2], ARGV[skip + 3], ARGV[skip + 4]
local state, before, most = ARGV[skip + 5], ARGV[skip + 6], tonumber(ARGV[skip + 7])

local function is_wanted(job_id)
  local has = read('HMGET', key_of('job', job_id), 'key', 'name', 'queue', 'state')
  return has and has[4] and (key == '' or has[1] == key) and (name == '' or has[2] == name)
    and (queue == '' or has[3] == queue) and (state == '' or has[4] == state)
end

local function work()
  local answer = { now, '0' }
  if id ~= '0' then
    if is_wanted(id) and (before == '0' or less(id, before)) then answer[3] = row_of(job_of(id)) end
    return answer
  end
  local index = key == '' and base .. 'ids' or key_of('of', key)
  local from = before == '0' and '+inf' or '(' .. before
  local ids = call('ZREVRANGEBYSCORE', index, from, '-inf', 'LIMIT', 0, page)
  local bytes = 0
  for i, job_id in ipairs(ids) do
    if is_wanted(job_id) then
      local job = job_of(job_id)
      answer[#answer + 1] = row_of(job)
      bytes = bytes + #(job.args or '')
    end
    if #answer - 2 >= most then return answer end
    if i == page or bytes >= page_bytes then
      answer[2] = job_id
      return answer
    end
  end
  return answer
end
-- include: error_reply

-- name: change_job
-- ARGV     id, what (cancel, retry, remove), by
-- Answers  now, the outcome (changed, none, state, slot), and the job; for `slot` the job that has it
-- include: jobs_begin
-- include: layout
-- include: job_row
-- include: job_changes
local id, what, by = ARGV[skip + 1], ARGV[skip + 2], ARGV[skip + 3]

-- False: it does not fit its state.
local function change(job)
  if what == 'cancel' then
    if is_over(job.state) and job.state ~= 'dead' then return false end
    enter(job, 'cancelled')
    note(job, 'cancelled', by)
  elseif what == 'retry' then
    if not is_over(job.state) then return false end
    enter(job, 'queued')
    set(job, 'attempt', '0')
    set(job, 'crashes', '0')
    set(job, 'run_at', now)
    set(job, 'due_at', now)
    set(job, 'slotted', has_slot(job) and '1' or '0')
    set(job, 'error', '')
    note(job, 'retried', by)
  else
    return job.state ~= 'running'
  end
  return true
end

local function work()
  local job = job_of(id)
  if not job then return { now, 'none' } end
  if not change(job) then return { now, 'state', row_of(job) } end
  if job.slotted == '1' then
    local other = in_slot(job.key)
    if other and other.id ~= job.id then return { now, 'slot', { other.id } } end
  end
  -- Its worker may never free the lock: the next job that waits for it tries for itself.
  local wakes = job.was.parked or job.was.state == 'running'
  local row = row_of(job)
  if what == 'remove' then erase(job) else save(job) end
  if wakes then unpark_next(job.key) end
  return { now, 'changed', row }
end
-- include: error_reply

-- name: tick
-- ARGV     what (take, read, success), name, tick, period (ms), by
-- Answers  now, taken, tick, by, at, success
-- include: jobs_begin
local what, name, tick, period, by = unpack(ARGV, skip + 1, skip + 5)

local function work()
  local key = key_of('tick', name)
  local last = call('HMGET', key, 'tick', 'by', 'at', 'success')
  if what == 'success' then
    write('HSET', key, 'success', now, 'by', by)
    return { now, '0', last[1] or '-1', by, last[3] or '0', now }
  end
  if what == 'read' then return { now, '0', last[1] or '-1', last[2] or '', last[3] or '0', last[4] or '0' } end
  if tonumber(period) > 0 then tick = whole(now_us - now_us % (period * 1000)) end
  if not below(last[1] or '-1', tick) then return { now, '0', tick, last[2] or '', last[3] or '0', last[4] or '0' } end
  write('HSET', key, 'tick', tick, 'job', '0', 'by', by, 'at', now)
  return { now, '1', tick, by, now, last[4] or '0' }
end
-- include: error_reply

-- name: purge_jobs
-- ARGV     older than (ms), most
-- Answers  now, how many jobs, how many windows.  Fewer of both than there may be at once: that was all.
-- include: jobs_begin
-- include: layout
-- include: job_row
-- include: job_changes
local older, most = tonumber(ARGV[skip + 1]), tonumber(ARGV[skip + 2])

local function work()
  local over = base .. 'over'
  local ids = call('ZRANGEBYSCORE', over, '-inf', whole(now_us - older * 1000), 'LIMIT', 0, most)
  for _, id in ipairs(ids) do
    local job = job_of(id)
    if job then erase(job) else write('ZREM', over, id) end
  end
  local windows = base .. 'windows'
  local names = call('ZRANGEBYSCORE', windows, '-inf', now, 'LIMIT', 0, most)
  for _, name in ipairs(names) do
    write('DEL', key_of('tick', name))
    write('ZREM', windows, name)
  end
  return { now, #ids, #names }
end
-- include: error_reply
