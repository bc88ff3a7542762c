-- SPDX-License-Identifier: Apache-2.0
local now_s, day_s = tonumber(time[1]), 86400
local now_us = now_s * 1000000 + time[2]

-- Texts of digits.
local function less(a, b) return #a < #b or (#a == #b and a < b) end

-- Texts of whole numbers, which may be below zero.
local function below(a, b)
  local minus = string.sub(a, 1, 1) == '-'
  if minus ~= (string.sub(b, 1, 1) == '-') then return minus end
  if minus then return less(string.sub(b, 2), string.sub(a, 2)) end
  return less(a, b)
end

local function whole(number) return string.format('%.0f', number) end

-- As call, but nil if the key is of another type.
local function read(...)
  local answer = try(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'WRONGTYPE', 1, true) then return nil end
  return call(...)  -- fails in the same way
end

-- The value of a lease.  False: there is none; a table: what is there is no lease, by its type or by its length.  A
-- long one is not read, unless the user lacks the right to ask how long it is, which earlier versions did not need.
local function value_of(lease, longest)
  local size = try('STRLEN', lease)
  if type(size) ~= 'number' or size <= longest then
    local value = try('GET', lease)
    if type(value) ~= 'string' or #value <= longest then return value end
    size = #value
  end
  return { kind = 'string of ' .. size .. ' bytes' }
end

-- What is there instead of a lease.
--
-- REQUIRES: value_of() answered a table, which is r.owner
local function kind_of(r)
  if r.owner.kind then return r.owner.kind end
  read('GET', r.lease)  -- fails if it was not the type
  return call('TYPE', r.lease).ok
end

local function write(...)
  local answer = call(...)
  wrote = true
  return answer
end

-- As src/stores/redis/naming.cpp names them.
local function beside(word, lease)
  local open = string.find(lease, '{', 1, true)
  local close = open and string.find(lease, '}', open + 1, true)
  if close and close > open + 1 then return 'holdfast:' .. word .. ':=' .. lease end
  return 'holdfast:' .. word .. ':{' .. lease .. '}'
end
