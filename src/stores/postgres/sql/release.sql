-- SPDX-License-Identifier: Apache-2.0
-- One release: the row stays, and says since when it is free.  Rings the first who waits, if anybody does.
-- No row: it is lost.
-- $1 key  $2 holder  $3 token, 0: any  $4 wait for a locked row at most so many milliseconds
UPDATE {locks} AS l
   SET locked_by = NULL, locked_until = {now}
 WHERE l.key::text = $1::text
   AND l.locked_by::text = $2::text
   AND ($3::bigint = 0 OR l.sequence = $3::bigint)
   AND coalesce(l.locked_until >= {now}, true)
   AND set_config('lock_timeout', $4::bigint::text, true) IS NOT NULL
RETURNING 'r' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          date_part('epoch', l.locked_until) * 1000000::float8 AS until_us, {now_us} AS now_us,
          set_config('synchronous_commit', 'on', true),
          (SELECT pg_notify('holdfast_' || f.client, $1::text) IS NULL
             FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = $1::text AND w.until > {now}
                    ORDER BY w.ticket LIMIT 1) AS f) AS rung;
