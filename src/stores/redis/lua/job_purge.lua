-- SPDX-License-Identifier: Apache-2.0
-- asked    older than (ms), most
-- Answers  now, how many jobs, how many windows.  Fewer of both than there may be at once: that was all.
local older, most = tonumber(ARGV[asked + 1]), tonumber(ARGV[asked + 2])

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
    write('DEL', named('tick', name))
    write('ZREM', windows, name)
  end
  return { now, #ids, #names }
end
