-- SPDX-License-Identifier: Apache-2.0
-- Leases and their queues, to be decided about: rows are locked in the bytewise order of their keys, which is the same
-- for everybody.
{patience}SELECT `key`, locked_by, {us(locked_at)}, {us(locked_until)}, sequence
  FROM {locks} FORCE INDEX (PRIMARY)
 WHERE `key` IN ({keys})
 ORDER BY `key`
   FOR UPDATE{skip};
SELECT `key`, client, waiter, {us(until)}, ticket
  FROM {waiters}
 WHERE `key` IN ({keys})
 ORDER BY `key`, ticket, client;
SELECT {now_us}, (SELECT purged_token FROM {state});
{more}
