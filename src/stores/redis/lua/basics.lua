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
