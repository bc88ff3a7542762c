-- SPDX-License-Identifier: Apache-2.0
-- asked    id (0: any), key, name, queue, state (of these empty: any), before (0: from the newest), most
-- Answers  now, the id behind which to go on (0: that was all), then jobs.  One page: so many are looked at, or so many
--          bytes of arguments told, of which a job has 1 MiB.  The client takes no answer above 64 MiB (wire.cpp).
local page, page_bytes = 200, 8 * 1024 * 1024
local id, key, name, queue = ARGV[asked + 1], ARGV[asked + 2], ARGV[asked + 3], ARGV[asked + 4]
local state, before, most = ARGV[asked + 5], ARGV[asked + 6], tonumber(ARGV[asked + 7])

local function is_wanted(job_id)
  local has = read('HMGET', named('job', job_id), 'key', 'name', 'queue', 'state')
  return has and has[4] and (key == '' or has[1] == key) and (name == '' or has[2] == name)
    and (queue == '' or has[3] == queue) and (state == '' or has[4] == state)
end

local function work()
  local answer = { now, '0' }
  if id ~= '0' then
    if is_wanted(id) and (before == '0' or less(id, before)) then answer[3] = told_of(job_of(id)) end
    return answer
  end
  local index = key == '' and base .. 'ids' or named('of', key)
  local from = before == '0' and '+inf' or '(' .. before
  local ids = call('ZREVRANGEBYSCORE', index, from, '-inf', 'LIMIT', 0, page)
  local bytes = 0
  for i, job_id in ipairs(ids) do
    if is_wanted(job_id) then
      local job = job_of(job_id)
      answer[#answer + 1] = told_of(job)
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
