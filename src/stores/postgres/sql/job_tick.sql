-- SPDX-License-Identifier: Apache-2.0
-- Takes a tick, if it is later than the last.  No row: it is not; ask which that was (job_ticks.sql).
-- $1 name  $2 tick  $3 period in microseconds, NULL: none  $4 by whom
-- $5 wait for a locked row at most so many milliseconds
INSERT INTO {ticks} AS t (name, tick, by, at)
SELECT $1::text, w.tick, $4::text, {now}
  FROM (SELECT coalesce(c.us - c.us % $3::bigint, $2::bigint) AS tick FROM (SELECT {now_us} AS us OFFSET 0) AS c) AS w
 WHERE w.tick > -1
   AND set_config('lock_timeout', greatest(1, $5::bigint)::text, true) IS NOT NULL
   AND {durable} IS NOT NULL
ON CONFLICT (name) DO UPDATE SET tick = excluded.tick, job = 0, by = excluded.by, at = excluded.at
 WHERE t.tick < excluded.tick
RETURNING t.tick, t.by, {us t.at}, {us t.success}, {now_us};
