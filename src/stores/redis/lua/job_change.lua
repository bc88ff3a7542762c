-- SPDX-License-Identifier: Apache-2.0
-- asked    id, what (cancel, retry, remove), by
-- Answers  now, what came of it (changed, none, state, slot), and the job; of slot who has it
local id, what, by = ARGV[asked + 1], ARGV[asked + 2], ARGV[asked + 3]

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
  if not change(job) then return { now, 'state', told_of(job) } end
  if job.slotted == '1' then
    local other = in_slot(job.key)
    if other and other.id ~= job.id then return { now, 'slot', { other.id } } end
  end
  -- Who would free the lock may never come; the next one looks for itself.
  local wakes = job.was.parked or job.was.state == 'running'
  local told = told_of(job)
  if what == 'remove' then erase(job) else save(job) end
  if wakes then unpark_next(job.key) end
  return { now, 'changed', told }
end
