-- SPDX-License-Identifier: Apache-2.0
-- Which strings are no leases.  Writes nothing.
--
-- KEYS     of each key: lease, facts
-- Answers  the numbers of those keys, from zero
local others = {}
for k = 1, #KEYS, 2 do
  local r = { lease = KEYS[k], named = try('HGET', KEYS[k + 1], 'holder') }
  look(r)
  local is_long = type(r.owner) == 'table' and r.owner.kind and try('PTTL', r.lease) == -1
  if is_long or (type(r.owner) == 'string' and is_no_lease(r)) then others[#others + 1] = (k - 1) / 2 end
end
return others
