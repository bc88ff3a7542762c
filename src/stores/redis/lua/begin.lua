-- SPDX-License-Identifier: Apache-2.0
-- How each script begins that decides something: one moment for all of it (us, as text).  src/stores/redis/script.cpp
-- says of which files a script is made; they are joined as they are.
local call, try = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] .. string.sub(time[2] + 1000000, 2)
local wrote  -- something has been written
