-- SPDX-License-Identifier: Apache-2.0
-- One release: the row stays, and says since when it is free.  Rings the first who waits, if anybody does.
-- $1 key  $2 holder  $3 token, 0: any  $4 wait for a locked row at most so many milliseconds
WITH released AS (
  UPDATE {locks} AS l
     SET locked_by = NULL, locked_until = {now}
    FROM (SELECT set_config('lock_timeout', $4::bigint::text, true) AS lock_timeout) AS p
   WHERE l.key::text = $1::text
     AND p.lock_timeout IS NOT NULL
     AND l.locked_by::text = $2::text
     AND ($3::bigint = 0 OR l.sequence = $3::bigint)
     AND coalesce(l.locked_until >= {now}, true)
  RETURNING l.sequence, set_config('synchronous_commit', 'on', true)
)
SELECT 'r' AS verdict, r.sequence AS token, NULL AS holder, NULL::float8 AS until_us, {now_us} AS now_us,
       (SELECT pg_notify('holdfast_' || f.client, $1::text) IS NULL
          FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = $1::text AND w.until > {now}
                 ORDER BY w.ticket LIMIT 1) AS f) AS rung
  FROM released AS r
UNION ALL
SELECT 'l', l.sequence, l.locked_by::text, date_part('epoch', l.locked_until) * 1000000, {now_us}, NULL
  FROM {locks} AS l
 WHERE l.key::text = $1::text
   AND NOT EXISTS (SELECT FROM released);
