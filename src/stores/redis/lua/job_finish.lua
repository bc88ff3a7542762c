-- SPDX-License-Identifier: Apache-2.0
-- asked    id, holder, to, in (ms), counts, error, lock, token
-- Answers  now, finished, released
local id, holder, to, pause = ARGV[asked + 1], ARGV[asked + 2], ARGV[asked + 3], tonumber(ARGV[asked + 4])
local counts, why, lock, token = ARGV[asked + 5] == '1', ARGV[asked + 6], ARGV[asked + 7], ARGV[asked + 8]

local function finish(job)
  if job.state ~= 'running' or job.holder ~= holder then return false end
  enter(job, to)
  let_go_of_lock(job)
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
