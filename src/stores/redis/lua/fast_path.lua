-- SPDX-License-Identifier: Apache-2.0
-- Most requests meet nobody: they are settled by this loop, without a function, a table or a pcall, as making those
-- takes longer than deciding.  Numbers stay texts where they can, for the same reason.  The first request that is not
-- so simple, and all behind it, are for the functions that follow.
while k < keys do
  local lease, facts = KEYS[k], KEYS[k + 1]
  local verb, holder, wanted, ttl = ARGV[v + 1], ARGV[v + 2], ARGV[v + 3], ARGV[v + 4]
  local known = try('HMGET', facts, 'token', 'holder', 'q', 'kept')
  local token, named, kept = known[1], known[2], tonumber(known[4])
  local answer, noted
  -- Nobody waits, and what is kept beside the lease stays long enough (`kept` is no number: for ever).  In each case
  -- what makes the difference is written first: if it may not be, nothing was, and the same is tried again below.
  if token and kept and not known[3] then
    if verb == 'a' then
      local void = ARGV[2]
      if (named == '' or named == holder) and #token == #now and token < now
        and ttl ~= '-1' and ttl / 1000 < kept - time[1] - 86400
        and (#void > #now or (#void == #now and void >= now))
        and (try('SET', lease, holder, 'PX', ttl, 'NX') or {}).ok then
        noted = try('HSET', facts, 'token', now, 'holder', holder, 'since', now, 'until', now .. '+' .. ttl,
          'about', '-' .. ARGV[v + 6])
        if type(noted) == 'number' then noted = try('ZADD', KEYS[3], 0, string.sub(lease, ARGV[3] + 1)) end
        answer = now .. ' 0 ' .. now .. ' ' .. ttl .. ' 0 '
      end
    elseif named == holder and holder ~= '' and (wanted == '0' or wanted == token) and try('GET', lease) == holder then
      if verb == 'r' then
        if try('DEL', lease) == 1 then
          noted = try('HSET', facts, 'holder', '', 'until', now .. '+0')
          if type(noted) == 'number' then noted = try('ZREM', KEYS[3], string.sub(lease, ARGV[3] + 1)) end
          answer = now .. ' 1 ' .. token .. ' 0 0 '
        end
      elseif verb == 'n' and ttl ~= '-1' and ttl / 1000 < kept - time[1] - 86400 then
        local left = tonumber(try('PTTL', lease)) or -1
        if left >= 0 and left < tonumber(ttl) and try('PEXPIRE', lease, ttl) == 1 then
          noted = try('HSET', facts, 'until', now .. '+' .. ttl)
          answer = now .. ' 0 ' .. token .. ' ' .. ttl .. ' 0 '
        end
      end
    end
  end
  if not answer then break end
  if type(noted) == 'table' then return redis.error_reply('HALFDONE ' .. noted.err) end
  if keys == 9 then return answer end
  answers, wrote = answers or {}, true
  answers[#answers + 1] = answer
  k, v = k + 4, v + 6
end
if k > keys then return answers end
