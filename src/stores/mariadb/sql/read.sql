-- SPDX-License-Identifier: Apache-2.0
-- The begin of a transaction: rows are locked in the bytewise order of their keys, which is the same for everybody.
-- Whoever stops in the middle of it is thrown out soon, so that nobody waits for the rows for long.
SET wait_timeout = 2;
START TRANSACTION;
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
