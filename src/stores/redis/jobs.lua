-- SPDX-License-Identifier: Apache-2.0
-- Jobs, by the rule of src/core/job_rule.cpp.  docs/stores/redis.md has the table of keys.  claims.lua claims, renews
-- and finishes them.
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
local function id_of(order) return whole(tonumber(string.sub(order, -16)) or 0) end

-- Remembers what decides in which sets it is, before that is changed.  A damaged one may be in any of them.
local function remember(job)
  job.was = { state = job.state, parked = job.parked == '1', order = order_of(job), slotted = job.slotted == '1',
    anywhere = job.damaged ~= nil }
  job.changed = {}
end

-- All but the arguments, which may be long: only an answer needs them.
local fields_of_job = { 'state', 'name', 'queue', 'key', 'priority', 'enqueued_at', 'run_at', 'due_at', 'started_at',
  'finished_at', 'attempt', 'crashes', 'max_attempts', 'lock_ttl', 'lock_fixed', 'limit', 'on_conflict', 'unique',
  'slotted', 'parked', 'holder', 'lock', 'token', 'claim_until', 'error', 'duplicates', 'trail', 'marker' }

-- Of those, what only some words, or a number below that, may stand in; the optional ones may be missing.
local words_of = { on_conflict = { drop = true, wait = true, raise = true, replace = true },
  unique = { no = true, loner = true, until_start = true, until_success = true } }
local states = { queued = true, running = true, done = true, dropped = true, cancelled = true, dead = true }
local largest_limit = 1000
local int, int64, beyond_a_century = '2147483648', '9223372036854775808', '3155760000001'
local numbers = { priority = int, enqueued_at = int64, run_at = int64, due_at = int64, max_attempts = int,
  lock_ttl = beyond_a_century }
local optional = { started_at = int64, finished_at = int64, attempt = int, crashes = int, token = int64,
  claim_until = int64, duplicates = int64 }
local instead = { on_conflict = 'drop', unique = 'no', state = 'dead', queue = '', key = '', holder = '' }

local function is_number(text, edge)
  if not string.find(text, '^-?%d+$') then return false end
  return #text < #edge or (below(text, edge) and not below(text, '-' .. edge))
end

local function is_limit(text) return string.find(text, '^%d+$') and #text <= 4 and tonumber(text) <= largest_limit end

-- Somebody may have changed a job by hand: `job.damaged` is a field that means nothing now (core/job_rule.h).  Of several
-- it is the state, if that is one of them: by its state it is decided in which set a job belongs.
local function find_damage(job)
  local function check(field, is_good)
    if is_good then return end
    job.damaged, job[field] = job.damaged or field, instead[field] or '0'
  end
  check('state', states[job.state or ''])
  for field, words in pairs(words_of) do check(field, words[job[field] or '']) end
  check('limit', is_limit(job.limit or ''))
  for field, edge in pairs(numbers) do check(field, is_number(job[field] or '', edge)) end
  for field, edge in pairs(optional) do check(field, is_number(job[field] or '0', edge)) end
  check('lock_ttl', job.lock_ttl ~= '0' or job.limit == '0')
  for _, field in ipairs({ 'queue', 'key' }) do check(field, job[field]) end
  for _, field in ipairs({ 'holder', 'claim_until' }) do check(field, job[field] or job.state ~= 'running') end
end

-- A table of these, all texts; nil: there is none.
local function job_of(id)
  local values = read('HMGET', key_of('job', id), unpack(fields_of_job))
  if not (values and values[1]) then return nil end
  local job = {}
  for i, field in ipairs(fields_of_job) do job[field] = values[i] or nil end
  job.id = id
  find_damage(job)
  remember(job)
  return job
end

local function set(job, field, value)
  job[field] = value
  job.changed[field] = value
end

local function set_all(job, values)
  for field, value in pairs(values) do set(job, field, value) end
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
  if job.damaged == 'state' then job.damaged = nil end
  set_all(job, { state = state, finished_at = is_over(state) and now or '0', parked = '0', claim_until = '0' })
  local keeps = state == 'dead' and job.unique == 'until_success'
  if is_over(state) and not keeps then set(job, 'slotted', '0') end
end

local function forget_lock(job) set_all(job, { lock = '', token = '0' }) end

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
  if was.state == 'queued' or was.anywhere then
    write('ZREM', key_of('ready', job.queue), was.order)
    write('ZREM', key_of('later', job.queue), was.order)
    if was.parked or was.anywhere then
      write('ZREM', key_of('waiting', job.queue), was.order)
      write('ZREM', key_of('parked', job.key), was.order)
    end
  end
  if was.state == 'running' or was.anywhere then write('ZREM', key_of('running', job.queue), job.id) end
  if was.state and is_over(was.state) then write('ZREM', base .. 'over', job.id) end
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
  if marks and (has_slot(job) or (job.marker or '') ~= '') then update_marker(job) end
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

-- Takes an entry out of a set in which its job does not belong, where save() would not look for it, and puts the job
-- where it does.
--
-- job  nil: it is gone
local function misplaced(job, set_name, entry)
  write('ZREM', set_name, entry)
  if not job or job.damaged or is_over(job.state) then return end
  remove_from_sets(job)
  add_to_sets(job)
end

-- The first in order of those that wait for the lock of a key and are not due by themselves.  A damaged one is due: it
-- can only die.
local function first_parked(key)
  local parked = key_of('parked', key)
  for _ = 1, 100 do
    local order = call('ZRANGE', parked, 0, 0)[1]
    if not order then return nil end
    local job = job_of(id_of(order))
    local waits = job and job.state == 'queued' and tonumber(job.due_at) > now_us
    if waits and not job.damaged and job.key == key and job.was.order == order then return job end
    misplaced(job, parked, order)
    if job and job.damaged and job.state == 'queued' then write('ZADD', key_of('ready', job.queue), 0, job.was.order) end
  end
end

-- Its lock may be free: the first of those that wait for it is due.
local function unpark_next(key)
  local job = first_parked(key)
  if not job then return end
  set(job, 'due_at', job.run_at)
  save(job)
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
    set_all(there, { args = new.args, priority = new.priority, max_attempts = new.max_attempts, run_at = run_at,
      attempt = '0', crashes = '0', error = '' })
    if tonumber(run_at) > now_us then set(there, 'parked', '0') end
    if there.parked ~= '1' then set(there, 'due_at', run_at) end
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
    set_all(job, { attempt = '0', crashes = '0', run_at = now, due_at = now, error = '' })
    set(job, 'slotted', has_slot(job) and '1' or '0')
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
    if job and is_over(job.state) then erase(job) else misplaced(job, over, id) end
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
