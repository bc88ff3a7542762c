-- SPDX-License-Identifier: Apache-2.0
-- asked    what (take, look, success), name, tick, period (ms), by
-- Answers  now, taken, tick, by, at, success
local what, name, tick, period, by = unpack(ARGV, asked + 1, asked + 5)

local function work()
  local key = named('tick', name)
  local last = call('HMGET', key, 'tick', 'by', 'at', 'success')
  if what == 'success' then
    write('HSET', key, 'success', now, 'by', by)
    return { now, '0', last[1] or '-1', by, last[3] or '0', now }
  end
  if what == 'look' then return { now, '0', last[1] or '-1', last[2] or '', last[3] or '0', last[4] or '0' } end
  if tonumber(period) > 0 then tick = whole(now_us - now_us % (period * 1000)) end
  if not below(last[1] or '-1', tick) then return { now, '0', tick, last[2] or '', last[3] or '0', last[4] or '0' } end
  write('HSET', key, 'tick', tick, 'job', '0', 'by', by, 'at', now)
  return { now, '1', tick, by, now, last[4] or '0' }
end
