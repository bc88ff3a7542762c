-- SPDX-License-Identifier: Apache-2.0
-- Which keys of a part of the table have been free so long.  One that somebody has locked just now stays, and so does
-- one whose token is ahead of the clock: all new keys would have to start behind it.
SET wait_timeout = 5;
START TRANSACTION;
SELECT l.`key`, l.sequence
  FROM {locks} AS l FORCE INDEX (PRIMARY)
 WHERE l.`key` > {behind} AND l.`key` <= {last}
   AND l.locked_until < {now} - INTERVAL {free_for} MICROSECOND
   AND l.sequence < {now_us}
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = l.`key` AND w.until > {now})
   FOR UPDATE SKIP LOCKED;
