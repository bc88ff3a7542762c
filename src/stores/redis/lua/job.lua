-- SPDX-License-Identifier: Apache-2.0
-- A job: what src/core/job_rule.cpp says of one, and where it lies.  docs/stores/redis.md has the table of keys.
--
-- ARGV  void (us), base (of the names), prefix (of leases), client, kept, index, held, purged, log; then what is asked
--
-- Answers  now (us), then what the script says.  'late': it came after void, and nothing was done.
if less(ARGV[1], now) then return { now, 'late' } end
local base, prefix = ARGV[2], ARGV[3]
local asked = 9  -- so many words stand before what is asked
local scout_us, parked_us, longest_trail = 1000000, 60000000, 8000
local exact = 9007199254740991  -- larger whole numbers are not

local function named(word, text) return base .. word .. ':' .. text end

-- In this order they are claimed.  A text, as (priority, run_at, id) has more bits than a score: a set whose scores are
-- all the same is in the order of its members.
local function order_of(job)
  local at = math.max(0, math.min(tonumber(job.run_at), exact))
  return string.format('%010.0f%017.0f%016.0f', job.priority + 2147483648, at, job.id)
end
local function id_of(order) return whole(tonumber(string.sub(order, -16))) end

-- What it was like before it is changed: where it lies now.
local function remember(job)
  job.was = { state = job.state, parked = job.parked == '1', order = order_of(job), slotted = job.slotted == '1' }
  job.changed = {}
end

-- All but the arguments: they may be long, and only who is told of the job wants them.
local fields_of_job = { 'state', 'name', 'queue', 'key', 'priority', 'enqueued_at', 'run_at', 'due_at', 'started_at',
  'finished_at', 'attempt', 'crashes', 'max_attempts', 'lock_ttl', 'lock_fixed', 'limit', 'on_conflict', 'unique',
  'slotted', 'parked', 'holder', 'lock', 'token', 'claim_until', 'error', 'duplicates', 'trail', 'marker' }

-- A table of these, all texts; nil: there is none.
local function job_of(id)
  local values = read('HMGET', named('job', id), unpack(fields_of_job))
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

-- Enqueued are at most 1 MiB of them.  Of what somebody else wrote, so much could be more than the client takes for an
-- answer: then it is told how long they are, which is no JSON, so that such a job fails for itself.
local longest_args = 2 * 1024 * 1024
local function args_of(job)
  local args = call('HGET', named('job', job.id), 'args') or nil
  if not args or #args <= longest_args then return args end
  return '(' .. #args .. ' bytes of arguments, more than a job can have)'
end

-- As the answer: id, then names and values.
--
-- REQUIRES: it has not been erased.
local function told_of(job)
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

local function enter(job, state)
  set(job, 'state', state)
  set(job, 'finished_at', is_over(state) and now or '0')
  set(job, 'parked', '0')
  set(job, 'claim_until', '0')
  local keeps = state == 'dead' and job.unique == 'until_success'
  if is_over(state) and not keeps then set(job, 'slotted', '0') end
end

local function let_go_of_lock(job)
  set(job, 'lock', '')
  set(job, 'token', '0')
end

-- Where it lies: by its order if it is due, else by when it will be.  One that waits for its lock is also found by key.
local function file(job)
  if job.state == 'queued' then
    local order = order_of(job)
    if tonumber(job.due_at) <= now_us then
      write('ZADD', named('ready', job.queue), 0, order)
    elseif job.parked == '1' then
      write('ZADD', named('waiting', job.queue), job.due_at, order)
      write('ZADD', named('parked', job.key), 0, order)
    else
      write('ZADD', named('later', job.queue), job.due_at, order)
    end
  elseif job.state == 'running' then
    write('ZADD', named('running', job.queue), job.claim_until, job.id)
  elseif job.state ~= 'dead' then
    write('ZADD', base .. 'over', job.finished_at, job.id)
  end
end

-- One that is due by now may have been moved, or not yet.
local function unfile(job)
  local was = job.was
  if was.state == 'queued' then
    write('ZREM', named('ready', job.queue), was.order)
    write('ZREM', named('later', job.queue), was.order)
    if was.parked then
      write('ZREM', named('waiting', job.queue), was.order)
      write('ZREM', named('parked', job.key), was.order)
    end
  elseif was.state == 'running' then
    write('ZREM', named('running', job.queue), job.id)
  elseif was.state then
    write('ZREM', base .. 'over', job.id)
  end
end

-- The slot counts only as long as its job is there and has it.
local function in_slot(key)
  local id = call('GET', named('slot', key))
  local job = id and job_of(id)
  return job and job.slotted == '1' and job.key == key and job or nil, id
end

local function leave_slot(job)
  local slot = named('slot', job.key)
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
  write('HSET', named('job', job.id), 'marker', job.marker)
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
  if moves then unfile(job) end
  write('HSET', named('job', job.id), unpack(words))
  if moves then file(job) end
  if job.slotted == '1' and not job.was.slotted then write('SET', named('slot', job.key), job.id) end
  if job.slotted ~= '1' and job.was.slotted then leave_slot(job) end
  if marks and has_slot(job) then update_marker(job) end
  remember(job)
end

local function erase(job)
  write('DEL', named('job', job.id))
  unfile(job)
  write('ZREM', base .. 'ids', job.id)
  if job.key ~= '' then write('ZREM', named('of', job.key), job.id) end
  if job.was.slotted then leave_slot(job) end
  if (job.marker or '') ~= '' then unmark(job) end
end

-- The first in order of those that wait for the lock of a key and are not due by themselves.
local function first_parked(key)
  local parked = named('parked', key)
  for _ = 1, 100 do
    local order = call('ZRANGE', parked, 0, 0)[1]
    if not order then return nil end
    local job = job_of(id_of(order))
    if job and tonumber(job.due_at) > now_us then return job end
    if job then
      unfile(job)
      file(job)
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

-- A request for a lease.  A key that is none counts as held without end, as does one beside which others have written.
local function written_by_others(name) return '(another program has written to ' .. name .. ')' end
local decide  -- made when it is needed
local function lease(verb, key, holder, token, ttl, longest_place)
  local name = prefix .. key
  local r = { lease = name, facts = beside('facts', name), queue = beside('queue', name),
    places = beside('places', name), verb = verb, holder = holder, wanted = token, words = '' }
  decide = decide or lease_rule({ kept = ARGV[5], index = ARGV[6], held = ARGV[7], purged = ARGV[8], log = ARGV[9],
    client = ARGV[4], void = ARGV[1], prefix = prefix })
  decide(r, ttl, 0, longest_place)
  if r.verdict == foreign then r.told, r.remaining = '(not a lease: a ' .. r.told .. ')', -1 end
  if r.verdict == companion_is_foreign then r.told, r.remaining = written_by_others(r.told), -1 end
  return r
end
