-- SPDX-License-Identifier: Apache-2.0
-- asked    name, queue, args, priority, at (us, 0: now), in (ms), max_attempts, key, lock_ttl (ms, -1: without end),
--          lock_fixed, limit, on_conflict, unique, tick_name, tick, window (ms), minds_holder
-- Answers  now, what, id, state, since, holder
local function work()
  local wish = { state = 'queued', enqueued_at = now }
  local fields = { 'name', 'queue', 'args', 'priority', 'at', 'in', 'max_attempts', 'key', 'lock_ttl', 'lock_fixed',
    'limit', 'on_conflict', 'unique', 'tick_name', 'tick', 'window', 'minds_holder' }
  for i, field in ipairs(fields) do wish[field] = ARGV[asked + i] end
  local run_at = wish.at ~= '0' and wish.at or whole(now_us + math.min(wish['in'] * 1000, exact))

  local function duplicate(there)
    add(there, 'duplicates', 1)
    return { now, 'duplicate', there.id, there.state, there.enqueued_at, '' }
  end

  -- One that waits for its lock goes on doing so, unless its time has not come: then others are before it.
  local function replace(there)
    for _, field in ipairs({ 'args', 'priority', 'max_attempts' }) do set(there, field, wish[field]) end
    set(there, 'run_at', run_at)
    if tonumber(run_at) > now_us then set(there, 'parked', '0') end
    if there.parked ~= '1' then set(there, 'due_at', run_at) end
    set(there, 'attempt', '0')
    set(there, 'crashes', '0')
    set(there, 'error', '')
    note(there, 'replaced', '')
  end

  local stale  -- its slot names a job that is gone
  local window, tick_key, tick = tonumber(wish.window), named('tick', wish.tick_name), wish.tick
  if window > 0 then tick = whole(now_us - now_us % (window * 1000)) end
  if wish.tick_name ~= '' then
    local last = call('HMGET', tick_key, 'tick', 'job', 'at')
    if last[1] and not below(last[1], tick) then
      local there = job_of(last[2] or '0')
      if not there then return { now, 'duplicate', last[2] or '0', 'done', last[3] or '0', '' } end
      local answer = duplicate(there)
      save(there)
      return answer
    end
  end

  if has_slot(wish) then
    local there, id = in_slot(wish.key)
    if there then
      local answer = duplicate(there)
      if wish.on_conflict == 'replace' and there.state == 'queued' then
        replace(there)
        answer[2] = 'replaced'
      end
      local parked = there.was.parked
      save(there)
      if parked and there.parked ~= '1' then unpark_next(there.key) end
      return answer
    end
    stale = id
    if marks and not stale and is_marked(wish.key) then return { now, 'locked', '0', 'queued', '0', stranger } end
  end

  if wish.minds_holder == '1' then
    local r = { lease = prefix .. wish.key }
    local facts = beside('facts', r.lease)
    local known = read('HMGET', facts, 'token', 'holder', 'until')
    if not known then return { now, 'locked', '0', 'queued', '0', written_by_others(facts) } end
    r.token, r.named, r.till = unpack(known)
    look(r)
    if type(r.owner) == 'table' then r.owner = '(not a lease: a ' .. kind_of(r) .. ')' end
    if r.owner then return { now, 'locked', '0', 'queued', '0', r.owner } end
  end

  local job = { id = whole(write('INCR', base .. 'last')), queue = wish.queue, key = wish.key, priority = wish.priority,
    run_at = run_at, unique = wish.unique }
  remember(job)
  if marks and stale then write('DEL', marker_of(wish.key)) end  -- it was that job's
  for _, field in ipairs({ 'state', 'enqueued_at', 'name', 'queue', 'args', 'priority', 'max_attempts', 'key',
    'lock_ttl', 'lock_fixed', 'limit', 'on_conflict', 'unique' }) do
    set(job, field, wish[field])
  end
  set(job, 'run_at', run_at)
  set(job, 'due_at', run_at)
  if has_slot(wish) then set(job, 'slotted', '1') end
  save(job)
  write('ZADD', base .. 'ids', job.id, job.id)
  if job.key ~= '' then write('ZADD', named('of', job.key), job.id, job.id) end
  if wish.tick_name ~= '' then
    local ends = window > 0 and whole(tick + window * 1000) or '0'
    write('HSET', tick_key, 'tick', tick, 'job', job.id, 'at', now, 'by', '', 'until', ends)
    if window > 0 then
      write('ZADD', base .. 'windows', ends, wish.tick_name)
    else
      write('ZREM', base .. 'windows', wish.tick_name)
    end
  end
  return { now, 'enqueued', job.id, 'queued', now, '' }
end
