-- SPDX-License-Identifier: Apache-2.0
-- Notes a success of a name.
-- $1 name  $2 by whom  $3 wait for a locked row at most so many milliseconds
INSERT INTO {ticks} AS t (name, tick, by, success)
SELECT $1::text, -1, $2::text, {now}
 WHERE set_config('lock_timeout', greatest(1, $3::bigint)::text, true) IS NOT NULL
   AND {durable} IS NOT NULL
ON CONFLICT (name) DO UPDATE SET success = excluded.success, by = excluded.by;
