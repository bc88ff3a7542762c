-- SPDX-License-Identifier: Apache-2.0
-- Which strings are no leases.  Writes nothing.
--
-- KEYS     of each key: lease, facts
-- Answers  the numbers of those keys, from zero
local longest_holder = 512
local others = {}
for k = 1, #KEYS, 2 do
  local r = { lease = KEYS[k], named = try('HGET', KEYS[k + 1], 'holder') }
  local size = try('STRLEN', r.lease)
  if type(size) == 'number' and size > longest_holder then
    if try('PTTL', r.lease) == -1 then others[#others + 1] = (k - 1) / 2 end
  elseif type(size) == 'number' then
    look(r)
    if type(r.owner) == 'string' and is_no_lease(r) then others[#others + 1] = (k - 1) / 2 end
  end
end
return others
