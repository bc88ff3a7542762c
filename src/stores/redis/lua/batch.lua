-- SPDX-License-Identifier: Apache-2.0
-- Applies a batch of requests, in order.  What it must answer is written down in include/holdfast/spi/store.h.
--
-- KEYS  kept, index, held, purged, log; then of each request: lease, facts, queue, places
-- ARGV  client, void (us), length of the prefix; then of each request: verb, holder, token, ttl (ms, -1: without
--       end), place (ms; of an acquire it may be followed by a blank and the longest_place), words (a note or a reason)
-- verb  a acquire, d acquire detached, n renew, e extend, r release, b break, x a key that may not be used
--
-- lease   string  who holds it: lease_own.lua, lease_beside.lua
-- facts   hash    token, holder, since, until, about, kept, q, w:<client>        docs/stores/redis.md
-- queue   zset    clients by ticket
-- places  zset    the same clients by when their place runs out (us)
--
-- Answers of each request: now (us), verdict, token, remaining, ahead, holder, with blanks between.  One request: that
--         text alone; more: a list.
local keys, k, v = #KEYS, 6, 3
local answers
