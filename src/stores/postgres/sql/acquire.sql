-- SPDX-License-Identifier: Apache-2.0
-- One acquire, in one step: nobody has the key and nobody waits for it, or it is the holder's already.
-- Whatever else the row says is answered as seen, and changes nothing.
-- $1 key  $2 holder  $3 ttl in microseconds, NULL: without end  $4 void after this moment, in microseconds
-- $5 wait for a locked row at most so many milliseconds  $6 client
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout',
                    greatest(1, least($5::bigint, ($4::bigint - {now_us}) / 1000))::text, true) AS lock_timeout
), taken AS (
  UPDATE {locks} AS l
     SET locked_by = $2::text,
         locked_at = CASE WHEN l.locked_by IS NULL THEN {now} ELSE l.locked_at END,
         locked_until = CASE WHEN $3::bigint IS NULL THEN NULL
                             WHEN l.locked_by IS NULL THEN {now} + $3::bigint::float8 * interval '1us'
                             WHEN l.locked_until IS NULL THEN NULL
                             ELSE greatest(l.locked_until, {now} + $3::bigint::float8 * interval '1us') END,
         sequence = CASE WHEN l.locked_by IS NOT NULL THEN l.sequence
                         ELSE greatest(coalesce(nullif(l.sequence, 0), (SELECT s.purged_token FROM {state} AS s), 0) + 1,
                                       {now_us}) END
    FROM patience AS p
   WHERE l.key::text = $1::text
     AND p.lock_timeout IS NOT NULL
     AND CASE WHEN l.locked_by IS NULL THEN NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = $1::text)
              ELSE l.locked_by::text = $2::text AND coalesce(l.locked_until >= {now}, true) END
     AND {now_us} <= $4::bigint
  RETURNING l.sequence, l.locked_until, {durable}
), made AS (
  INSERT INTO {locks} (key, locked_by, locked_at, locked_until, sequence)
  SELECT $1::text, $2::text, {now}, {now} + $3::bigint::float8 * interval '1us',
         greatest(coalesce((SELECT s.purged_token FROM {state} AS s), 0) + 1, {now_us})
    FROM patience AS p
   WHERE p.lock_timeout IS NOT NULL
     AND NOT EXISTS (SELECT FROM {locks} AS l WHERE l.key::text = $1::text)
     AND NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = $1::text)
     AND {now_us} <= $4::bigint
  ON CONFLICT (key) DO NOTHING
  RETURNING sequence, locked_until, {durable}
)
SELECT 'g' AS verdict, sequence AS token, NULL AS holder, {us locked_until} AS until_us, {now_us} AS now_us, NULL AS ahead
  FROM (SELECT sequence, locked_until FROM taken UNION ALL SELECT sequence, locked_until FROM made) AS granted
UNION ALL
SELECT '?', l.sequence, l.locked_by::text, {us l.locked_until}, {now_us},
       (SELECT count(*)
          FROM {waiters} AS w
         WHERE w.key = $1::text AND w.until > {now}
           AND NOT EXISTS (SELECT FROM {waiters} AS o
                            WHERE o.key = $1::text AND o.client = $6::text AND o.until > {now} AND o.ticket <= w.ticket))
  FROM {locks} AS l
 WHERE l.key::text = $1::text
   AND NOT EXISTS (SELECT FROM taken) AND NOT EXISTS (SELECT FROM made);
