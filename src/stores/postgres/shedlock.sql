-- SPDX-License-Identifier: Apache-2.0
-- layout=shedlock: leases beside the table of Java's ShedLock; leases.sql says what the braces mean.
--
-- ShedLock sees only {shedlock}. What that has no column for (token, exact times, queue, note) is in our tables, where `apply`
-- of leases.sql decides. So each batch is one transaction of five statements: make_rows, lock_rows, take_in, apply, write_out. All that
-- writes locks the rows of {shedlock} first, as ShedLock does, in the bytewise order of names.
--
-- A lock of ShedLock's stands in {locks} as a lease that no client of ours can renew, release or break: its owner is longer
-- than an owner can be, and its sequence is negative. Our next token is still known from it.
--
-- {clock_us} is the server's clock. From take_in on the transaction has one moment, {now}: what was live then is live for apply.

-- name: create_shedlock
-- shedlock: the table of ShedLock, as its page creates it for PostgreSQL.
CREATE TABLE {shedlock} (
  name varchar(64) NOT NULL,
  lock_until timestamp NOT NULL,
  locked_at timestamp NOT NULL,
  locked_by varchar(255) NOT NULL,
  PRIMARY KEY (name)
);

-- name: probe_shedlock
-- What ShedLock's table is, whether it has one row for each name, and its columns: "name d character varying(64)".
-- $1 the table, quoted
SELECT c.relkind::text,
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                 JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                WHERE i.indrelid = c.oid AND a.attname::text = 'name'::text AND i.indnkeyatts = 1::smallint
                  AND i.indisunique AND i.indisvalid AND i.indimmediate
                  AND i.indpred IS NULL AND i.indexprs IS NULL) AS one_row_per_name,
       (SELECT string_agg('.' || a.attname::text || ' '
                          || CASE WHEN NOT a.attnotnull THEN 'n'
                                  WHEN a.atthasdef OR a.attidentity::text <> ''::text THEN 'd' ELSE 'g' END
                          || ' ' || CASE WHEN a.atttypid < 16384::oid
                                         THEN replace(format_type(a.atttypid, a.atttypmod), '"'::text, ''::text)
                                         ELSE format_type(a.atttypid, a.atttypmod) END, chr(10))
          FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND a.attnum > 0::smallint AND NOT a.attisdropped) AS columns
  FROM pg_catalog.pg_class AS c
 WHERE c.oid = to_regclass($1::text)::oid;

-- name: make_rows
-- Rows for names that ShedLock has never used, so that there is one to lock. They are free. Also says for all statements of the
-- transaction how long they wait; the last line, for a batch that makes no rows.
-- $1 wait for locked rows at most so many milliseconds  $2 names
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', greatest(1, $1::bigint)::text, true) AS lock_timeout
), made AS (
  INSERT INTO {shedlock} (name, lock_until, locked_at, locked_by)
  SELECT n.name, timestamp 'epoch', timestamp 'epoch', ''
    FROM unnest($2::text[]) WITH ORDINALITY AS n (name, place)
   WHERE (SELECT p.lock_timeout FROM patience AS p) IS NOT NULL
     AND NOT EXISTS (SELECT FROM {shedlock} AS s WHERE s.name::text = n.name)
   ORDER BY n.place
  ON CONFLICT (name) DO NOTHING
  RETURNING 1
)
SELECT count(*), (SELECT p.lock_timeout FROM patience AS p) FROM made;

-- name: lock_rows
-- Locks the rows of {shedlock}. A statement of its own, because the next one then sees in {locks} what was committed while this
-- one waited.
-- $1 names
SELECT count(*) FROM (SELECT FROM {shedlock} AS s WHERE s.name::text = ANY ($1::text[])
                       ORDER BY s.name::text COLLATE "C" FOR UPDATE) AS locked;

-- part: is_ours
-- Whether the row s of {shedlock} is that of the lease l.
coalesce(right(s.locked_by::text, length('holdfast-' || to_hex(l.sequence))) = 'holdfast-' || to_hex(l.sequence), false)

-- part: end_for_shedlock
-- lock_until of the lease l: behind its end, so that ShedLock never takes what we still call live. A lock is live before its
-- lock_until, and no more at it.
coalesce(date_trunc('milliseconds', l.locked_until) + interval '1ms', timestamp '9999-12-31')

-- name: take_in
-- Decides which moment it is, and makes {locks} follow {shedlock}.
-- $1 names
WITH locked AS MATERIALIZED (
  SELECT s.name::text AS key, s.lock_until, s.locked_at, s.locked_by::text AS locked_by
    FROM {shedlock} AS s
   WHERE s.name::text = ANY ($1::text[])
), moment AS MATERIALIZED (
  SELECT set_config('holdfast.now_us', {clock_us}::text, true)::bigint AS now_us
), seen AS MATERIALIZED (
  SELECT k.key, s.lock_until, s.locked_at AS since, s.locked_by AS shown, l.locked_by, l.locked_at, l.locked_until, l.sequence,
         m.now,
         s.key IS NOT NULL AND
-- include: is_ours
         AS ours,
         l.locked_by IS NOT NULL AND coalesce(l.locked_until >= m.now, true) AS live,
-- include: end_for_shedlock
         AS expected
    FROM (SELECT timestamp 'epoch' + now_us::float8 * interval '1us' AS now FROM moment) AS m
   CROSS JOIN unnest($1::text[]) AS k (key)
    LEFT JOIN locked AS s ON s.key = k.key
    LEFT JOIN {locks} AS l ON l.key::text = k.key
), judged AS (
  SELECT w.*,
         CASE WHEN NOT w.ours AND w.lock_until > w.now THEN 'theirs'            -- a live lock of ShedLock's
              WHEN w.sequence < 0 THEN 'free'                                   -- was one
              WHEN w.live AND NOT w.ours THEN 'over'                            -- another had it, or its row was deleted
              WHEN w.live AND w.lock_until < w.expected THEN 'shorter'          -- somebody has unlocked it
         END AS change
    FROM seen AS w
), written AS (
  INSERT INTO {locks} AS l (key, locked_by, locked_at, locked_until, sequence)
  SELECT j.key,
         CASE j.change WHEN 'theirs' THEN repeat(' ', 513) || j.shown || ' (ShedLock)' WHEN 'free' THEN NULL ELSE j.locked_by END,
         CASE j.change WHEN 'theirs' THEN j.since ELSE j.locked_at END,
         CASE j.change WHEN 'over' THEN j.now - interval '1us' WHEN 'free' THEN least(j.locked_until, j.now)
                       ELSE j.lock_until - interval '1us' END,
         CASE WHEN j.change <> 'theirs' THEN abs(j.sequence)
              WHEN j.sequence < 0 THEN j.sequence
              ELSE -coalesce(nullif(j.sequence, 0), (SELECT t.purged_token FROM {state} AS t), 0) - 1 END
    FROM judged AS j
   WHERE j.change IS NOT NULL
     AND (j.change <> 'theirs' OR coalesce(j.sequence, 0) >= 0 OR j.locked_until <> j.lock_until - interval '1us'
          OR j.locked_by::text <> repeat(' ', 513) || j.shown || ' (ShedLock)')
   ORDER BY j.key COLLATE "C"
  -- Without a row of {shedlock} nothing was locked, and another may have been granted the lease since.
  ON CONFLICT (key) DO UPDATE
     SET locked_by = excluded.locked_by, locked_at = excluded.locked_at, locked_until = excluded.locked_until,
         sequence = excluded.sequence
   WHERE abs(l.sequence) <= abs(excluded.sequence)
  RETURNING 1
)
SELECT count(*) FROM written;

-- name: write_out
-- Makes {shedlock} follow. Fails, and so undoes all, if the server's clock is past $2; and if a row was deleted after make_rows, and
-- ShedLock has inserted it again since.
-- $1 names  $2 void after this moment, in microseconds  $3 letters of an owner that fit before our mark
WITH written AS (
  UPDATE {shedlock} AS s
     SET lock_until = CASE WHEN l.locked_by IS NULL THEN date_trunc('milliseconds', {now}) ELSE
-- include: end_for_shedlock
                      END,
         locked_at = CASE WHEN l.locked_by IS NULL THEN s.locked_at ELSE date_trunc('milliseconds', l.locked_at) END,
         locked_by = CASE WHEN l.locked_by IS NULL THEN s.locked_by::text
                          ELSE left(l.locked_by::text, $3::bigint::int) || ' holdfast-' || to_hex(l.sequence) END
    FROM {locks} AS l
   WHERE s.name::text = ANY ($1::text[]) AND l.key::text = s.name::text AND l.sequence > 0
     AND CASE WHEN l.locked_by IS NULL THEN s.lock_until > {now} AND
-- include: is_ours
              ELSE coalesce(l.locked_until >= {now}, true) AND NOT (
-- include: is_ours
                   AND s.lock_until =
-- include: end_for_shedlock
                   ) END
  RETURNING 1
), made AS (
  INSERT INTO {shedlock} (name, lock_until, locked_at, locked_by)
  SELECT l.key::text,
-- include: end_for_shedlock
         , date_trunc('milliseconds', l.locked_at), left(l.locked_by::text, $3::bigint::int) || ' holdfast-' || to_hex(l.sequence)
    FROM {locks} AS l
   WHERE l.key::text = ANY ($1::text[]) AND l.sequence > 0 AND l.locked_by IS NOT NULL
     AND coalesce(l.locked_until >= {now}, true)
     AND NOT EXISTS (SELECT FROM {shedlock} AS s WHERE s.name::text = l.key::text)
   ORDER BY l.key::text COLLATE "C"
  RETURNING 1
)
SELECT count(*), 1 / CASE WHEN {clock_us} <= $2::bigint THEN 1 ELSE 0 END FROM written;

-- name: list_shedlock
-- Keys for people, in bytewise order: ours, and those that ShedLock holds, which have no token.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 behind this key  $4 so many  $5 also this key  $6 also keys that
-- nobody holds
SELECT x.key, x.owner, x.token, {us x.until}, {us x.since}, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = x.key AND w.until > {now}), {now_us}, x.ttl_ms
  FROM (SELECT l.key::text AS key, CASE WHEN l.sequence >= 0 THEN l.locked_by::text END AS owner, abs(l.sequence) AS token,
               CASE WHEN l.locked_by IS NULL OR (s.lock_until > {now} AND o.ours) THEN l.locked_until
                    ELSE least(l.locked_until, {now} - interval '1us') END AS until,
               l.locked_at AS since,
               CASE WHEN l.ttl_until = l.locked_until THEN l.ttl_ms END AS ttl_ms  -- with ttl
               NULL::bigint AS ttl_ms  -- without ttl
          FROM {locks} AS l
          LEFT JOIN {shedlock} AS s ON s.name::text = l.key::text
         CROSS JOIN LATERAL (SELECT
-- include: is_ours
                             AS ours) AS o
         WHERE o.ours OR coalesce(s.lock_until <= {now}, true)
        UNION ALL
        SELECT s.name::text, s.locked_by::text || ' (ShedLock)', 0, s.lock_until - interval '1us', s.locked_at, NULL
          FROM {shedlock} AS s
          LEFT JOIN {locks} AS l ON l.key::text = s.name::text
         CROSS JOIN LATERAL (SELECT
-- include: is_ours
                             AS ours) AS o
         WHERE s.lock_until > {now} AND NOT o.ours) AS x
  LEFT JOIN {facts} AS f ON f.key = x.key AND f.token = x.token
 WHERE CASE WHEN $2::boolean THEN x.key = $1::text ELSE starts_with(x.key, $1::text) END
   AND x.key COLLATE "C" >= $3::text
   AND ($5::boolean OR x.key COLLATE "C" <> $3::text)
   AND ($6::boolean OR x.owner IS NOT NULL OR EXISTS (SELECT FROM {waiters} AS w WHERE w.key = x.key AND w.until > {now}))
 ORDER BY x.key COLLATE "C"
 LIMIT $4::bigint;
