-- SPDX-License-Identifier: Apache-2.0
-- Rows for people.  Writes nothing.
--
-- KEYS     of each key: lease, facts, places
-- ARGV     1: also of keys that were given back and that nobody waits for.  0: those are seen with little work
-- Answers  of each key: owner ('': free), remaining (ms, -1: without end), token, holder, since, about, waiting,
--          type ('': a lease can lie there; 'companion': it cannot, since its facts are of another type), ttl (ms, -1:
--          not known, or without end); an empty list for a key of which nothing is known, or wanted
--
-- What another program has replaced by something of another type counts as missing: other keys are listed all the same.
local function is_free(k)
  local facts = read('HMGET', KEYS[k + 1], 'holder', 'q') or {}
  return (facts[1] or '') == '' and not facts[2] and call('EXISTS', KEYS[k]) == 0
end

-- What was left when its end was last set.  Less than is left now: somebody else has set it since.
local function ttl_of(till, left)
  local ttl = tonumber(string.match(till or '', '%+(%d+)$'))
  return ttl and left > 0 and left <= ttl and ttl or -1
end

local function row_of(k)
  local facts = read('HMGET', KEYS[k + 1], 'token', 'holder', 'since', 'about', 'kept', 'until')
  local kind, left = facts and '' or 'companion', 0
  facts = facts or {}
  local r = { lease = KEYS[k], token = facts[1], named = facts[2], till = facts[6] }
  look(r)
  local owner = r.owner
  if type(owner) == 'table' or (owner and is_no_lease(r)) then
    kind, left = type(owner) == 'table' and kind_of(r) or 'string without an expiry', -1
    owner = '(not a lease: a ' .. kind .. ')'
  elseif owner then
    kind, left = '', left_of(r)
  end
  if owner or facts[5] or kind ~= '' then
    -- Else the facts are those of an earlier grant: of this one nothing is known.
    local told = (not owner or (owner == facts[2] and not r.stranger)) and facts or {}
    return { owner or '', left, told[1] or '0', told[2] or '', told[3] or '0', told[4] or '-',
      read('ZCOUNT', KEYS[k + 2], '(' .. now, '+inf') or 0, kind, ttl_of(told[6], left) }
  end
  return {}
end

local rows, all = {}, ARGV[1] == '1'
for k = 1, #KEYS, 3 do rows[#rows + 1] = (all or not is_free(k)) and row_of(k) or {} end
return rows
