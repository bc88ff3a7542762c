-- SPDX-License-Identifier: Apache-2.0
-- asked    ttl (ms); then of each claim: id, holder
-- Answers  now; then of each whether it is the holder's still
local function work()
  local ends, answer = now_us + ARGV[asked + 1] * 1000, { now }
  for i = asked + 2, #ARGV, 2 do
    local name = named('job', ARGV[i])
    local job = read('HMGET', name, 'state', 'holder', 'claim_until', 'queue') or {}
    local state, holder, claim_until, queue = unpack(job)
    local held = state == 'running' and holder == ARGV[i + 1]
    if held and tonumber(claim_until) < ends then
      write('ZREM', named('running', queue), ARGV[i])  -- as in save()
      write('HSET', name, 'claim_until', whole(ends))
      write('ZADD', named('running', queue), whole(ends), ARGV[i])
    end
    answer[#answer + 1] = held and '1' or '0'
  end
  return answer
end
