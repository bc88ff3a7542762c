-- SPDX-License-Identifier: Apache-2.0
-- Leases: what one request asks, what many ask at once, what people ask, and what a purge takes away.
--
-- Words in braces are put in at run time: names of tables, {now} and {now_us} (the server's clock), {us MOMENT}
-- (microseconds since 1970), {durable} and {last_day}; tables.cpp says what each stands for.
-- A line that ends in `-- with ttl` is left out where {locks} has no columns ttl_ms and ttl_until: in a table that Ruby
-- made, or before migrate_3_locks.  `-- without ttl` is the opposite.
--
-- The rule of leases is written once: rule_clock, rule_judge, rule_settle for requests of any kind, in `apply` and in the
-- claims of jobs (jobs.sql); release_rule for a lease that is given back.  Every statement with one of the first three has
-- these parameters first:
--   $1 acquires are void after this moment, in microseconds  $2 wait for locked rows at most so many milliseconds
-- and those with rule_judge and rule_settle also
--   $3 client: whose places in queues are ours

-- part: rule_clock
-- When it is decided, and how long locked rows are waited for.
clock AS MATERIALIZED (
  SELECT {now} AS now, {now_us} <= $1::bigint AS in_time,
         {durable} AS durable,
         set_config('lock_timeout',
                    greatest(1, least($2::bigint, ($1::bigint - {now_us}) / 1000))::text, true) AS lock_timeout
),

-- part: rule_judge
-- What the snapshot says of each of `asked`.  For longest_place_us see spi/store.h, Request::longest_place.
wanted AS MATERIALIZED (
  SELECT w.*, w.ttl_us::float8 * interval '1us' AS ttl, c.now, c.in_time,
         l.key IS NOT NULL AS known, l.locked_by::text AS locked_by, l.locked_until, l.sequence, l.xmin AS version,
         l.locked_by IS NOT NULL AND coalesce(l.locked_until >= c.now, true) AS live,
         q.places, q.clients, q.first_client, q.first_until
    FROM clock AS c
   CROSS JOIN asked AS w
    LEFT JOIN {locks} AS l ON l.key::text = w.key
   CROSS JOIN LATERAL (
         SELECT count(*) AS places,
                pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.until > c.now) AS clients,
                (pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.counts))[1] AS first_client,
                (pg_catalog.array_agg(p.until ORDER BY p.ticket) FILTER (WHERE p.counts))[1] AS first_until
           FROM (SELECT s.client, s.until, s.ticket,
                        s.until > c.now
                        AND (s.client = $3::text
                             OR coalesce(s.until <= c.now + w.longest_place_us::float8 * interval '1us', true)) AS counts
                   FROM {waiters} AS s
                  WHERE s.key = w.key AND w.verb <> 'n') AS p) AS q
), judged AS MATERIALIZED (  -- by the snapshot
  SELECT w.*,
         CASE w.verb
           WHEN 'a' THEN w.in_time
                         AND CASE WHEN w.live THEN w.locked_by = w.holder
                                  ELSE coalesce(w.first_client = $3::text, true) END
           WHEN 'e' THEN w.live AND w.sequence = w.token
           ELSE w.live AND w.locked_by = w.holder AND (w.token = 0 OR w.token = w.sequence)
         END AS fits
    FROM wanted AS w
),

-- part: rule_settle
-- Those of `chosen` that are likely are decided on the newest version of their rows, and all are answered.
made AS (
  INSERT INTO {locks} (key, locked_by, locked_at, locked_until,
                       ttl_ms, ttl_until,  -- with ttl
                       sequence)
  SELECT j.key, j.holder, j.now, j.now + j.ttl,
         j.ttl_us / 1000::bigint, j.now + j.ttl,  -- with ttl
         greatest(coalesce((SELECT s.purged_token FROM {state} AS s), 0) + 1, {now_us})
    FROM chosen AS j
   WHERE j.verb = 'a' AND j.likely AND NOT j.known
   ORDER BY j.n
  ON CONFLICT (key) DO NOTHING
  RETURNING key::text AS key, locked_by::text AS locked_by, sequence, locked_until
), locked AS MATERIALIZED (
  SELECT j.n, j.key, j.verb, j.holder, j.token, j.ttl, j.ttl_us, j.place_us, j.flags, j.note, j.clients, j.first_client,
         l.locked_by::text AS locked_by, l.locked_at, l.locked_until, l.sequence
    FROM chosen AS j
    JOIN {locks} AS l ON l.key::text = j.key
   WHERE (j.likely OR (j.verb = 'a' AND j.place_us > 0 AND j.in_time))
     AND j.known AND (SELECT count(*) FROM made) IS NOT NULL
     -- Somebody may have taken a place since the snapshot (touched): asked again we see whom to ring.
     AND (j.verb NOT IN ('r', 'e') OR l.xmin = j.version)
   ORDER BY j.n
     FOR NO KEY UPDATE OF l
), seen AS MATERIALIZED (  -- on the clock again: the locks may have been waited for
  SELECT d.*, {now} AS now, {now_us} AS now_us FROM locked AS d
), decided AS MATERIALIZED (
  SELECT s.*, s.locked_by IS NOT NULL AND coalesce(s.locked_until >= s.now, true) AS live,
         CASE WHEN s.locked_by IS NULL OR s.locked_until < s.now
              THEN CASE WHEN s.verb = 'a' AND s.now_us <= $1::bigint AND coalesce(s.first_client = $3::text, true)
                        THEN 'grant' ELSE 'nothing' END
              WHEN s.verb = 'e' THEN CASE WHEN s.sequence = s.token THEN 'evict' ELSE 'nothing' END
              WHEN s.locked_by <> s.holder OR s.token NOT IN (0, s.sequence) THEN 'nothing'
              WHEN s.verb = 'r' THEN 'release'
              ELSE 'renew' END AS outcome
    FROM seen AS s
), changed AS (
  UPDATE {locks} AS l
     SET locked_by = CASE WHEN d.outcome IN ('grant', 'renew') THEN d.holder END,
         locked_at = CASE WHEN d.outcome = 'grant' THEN d.now ELSE d.locked_at END,
         locked_until = CASE WHEN d.outcome = 'grant' THEN d.now + d.ttl
                             WHEN d.outcome IN ('release', 'evict') THEN d.now
                             WHEN d.locked_until IS NULL OR d.ttl IS NULL THEN NULL
                             WHEN d.verb = 'n' AND d.flags & 1::bigint = 1::bigint THEN least(d.locked_until + d.ttl, {last_day})
                             ELSE greatest(d.locked_until, d.now + d.ttl) END,
         ttl_ms = CASE WHEN d.outcome = 'grant' THEN d.ttl_us / 1000::bigint  -- with ttl
                       WHEN d.outcome <> 'renew' THEN l.ttl_ms  -- with ttl
                       WHEN d.verb = 'n' AND d.flags & 1::bigint = 1::bigint AND d.locked_until < {last_day}  -- with ttl
                       THEN (date_part('epoch', date_trunc('milliseconds',  -- with ttl
                                                           least(d.locked_until + d.ttl, {last_day}) - d.now))  -- with ttl
                             * 1000::float8)::bigint  -- with ttl
                       WHEN d.locked_until < d.now + d.ttl THEN d.ttl_us / 1000::bigint  -- with ttl
                       ELSE l.ttl_ms END,  -- with ttl
         ttl_until = CASE WHEN d.outcome = 'grant' THEN d.now + d.ttl  -- with ttl
                          WHEN d.outcome <> 'renew' THEN l.ttl_until  -- with ttl
                          WHEN d.verb = 'n' AND d.flags & 1::bigint = 1::bigint  -- with ttl
                          THEN least(d.locked_until + d.ttl, {last_day})  -- with ttl
                          WHEN d.locked_until < d.now + d.ttl THEN d.now + d.ttl  -- with ttl
                          ELSE l.ttl_until END,  -- with ttl
         sequence = CASE WHEN d.outcome = 'grant'
                         THEN greatest(coalesce(nullif(d.sequence, 0), (SELECT s.purged_token FROM {state} AS s), 0) + 1,
                                       d.now_us)
                         ELSE d.sequence END
    FROM decided AS d
   WHERE l.key::text = d.key AND d.outcome <> 'nothing'
  RETURNING d.n, d.outcome, l.locked_by::text AS locked_by, l.locked_until, l.sequence
), touched AS (  -- by a place that is new, so that a release which has not seen it has to look again
  UPDATE {locks} AS l
     SET locked_by = l.locked_by
    FROM decided AS d
   WHERE l.key::text = d.key AND d.outcome = 'nothing' AND d.verb = 'a' AND d.place_us > 0
     AND NOT coalesce($3::text = ANY (d.clients), false)
), answered AS MATERIALIZED (
  SELECT j.n, j.verb, j.key, j.holder, j.place_us, j.longest_place_us, j.flags, j.note, j.now, j.in_time, j.likely,
         j.places, j.clients, j.first_until,
         CASE WHEN m.key IS NOT NULL THEN 'grant' ELSE coalesce(c.outcome, 'nothing') END AS outcome,
         m.key IS NOT NULL OR d.n IS NOT NULL OR NOT j.likely AS certain,
         CASE WHEN m.key IS NOT NULL THEN m.locked_by WHEN c.n IS NOT NULL THEN c.locked_by
              WHEN d.n IS NOT NULL THEN d.locked_by ELSE j.locked_by END AS locked_by,
         CASE WHEN m.key IS NOT NULL THEN m.locked_until WHEN c.n IS NOT NULL THEN c.locked_until
              WHEN d.n IS NOT NULL THEN d.locked_until ELSE j.locked_until END AS locked_until,
         coalesce(m.sequence, c.sequence, d.sequence, j.sequence) AS sequence,
         coalesce(d.live, j.live) AS live
    FROM chosen AS j
    LEFT JOIN made AS m ON m.key = j.key
    LEFT JOIN decided AS d ON d.n = j.n
    LEFT JOIN changed AS c ON c.n = j.n
), noted AS (
  INSERT INTO {facts} AS f (key, token, detached, note)
  SELECT a.key, a.sequence, a.flags & 2::bigint = 2::bigint, a.note
    FROM answered AS a
   WHERE a.outcome = 'grant' AND (a.flags & 2::bigint = 2::bigint OR a.note <> '')
   ORDER BY a.n
  ON CONFLICT (key) DO UPDATE SET token = excluded.token, detached = excluded.detached, note = excluded.note
), logged AS (
  INSERT INTO {log} (at, key, event, holder, token, by, reason)
  SELECT d.now, d.key, CASE d.outcome WHEN 'evict' THEN 'broken' ELSE 'taken-over' END,
         d.locked_by, d.sequence, d.holder, CASE d.outcome WHEN 'evict' THEN d.note ELSE '' END
    FROM decided AS d
   WHERE d.outcome = 'evict' OR (d.outcome = 'grant' AND d.locked_by <> d.holder)
   ORDER BY d.n
), left_over AS MATERIALIZED (  -- places that nobody needs any more; one that somebody has locked is going
  SELECT p.key, p.client
    FROM answered AS a
    JOIN {waiters} AS p ON p.key = a.key
   WHERE a.places > 0
     AND CASE WHEN p.client = $3::text THEN a.outcome = 'grant' OR (a.verb = 'r' AND a.place_us > 0)
              ELSE a.outcome = 'grant'
                   AND (p.until <= a.now OR p.until > a.now + a.longest_place_us::float8 * interval '1us') END
   ORDER BY p.key, p.client
     FOR UPDATE OF p SKIP LOCKED
), dropped AS (
  DELETE FROM {waiters} AS p USING left_over AS g WHERE p.key = g.key AND p.client = g.client
), kept AS (
  INSERT INTO {waiters} AS p (key, client, waiter, until)
  SELECT a.key, $3::text, a.holder, a.now + a.place_us::float8 * interval '1us'
    FROM answered AS a
   WHERE a.verb = 'a' AND a.place_us > 0 AND a.outcome = 'nothing' AND a.in_time
   ORDER BY a.n
  ON CONFLICT (key, client) DO UPDATE
     SET waiter = excluded.waiter, until = excluded.until,
         ticket = CASE WHEN p.until <= {now} THEN excluded.ticket ELSE p.ticket END
),

-- name: apply
-- Any mixture of requests, one for each key, in one step.
--
-- What the snapshot says is busy or lost needs no row lock, no write and no fsync.  The rest is locked in the
-- order given, which is the bytewise order of keys for everybody, and decided on the newest version of each row.
-- New rows are made first: nobody waits for them but others who make them, so no circle of waiting can close.
--
-- $1 void after  $2 patience  $3 client
-- $4 verbs: a acquire, n renew, r release, e evict  $5 keys  $6 holders  $7 tokens, 0: any
-- $8 ttls in microseconds, NULL: without end  $9 places in microseconds, 0: none
-- $10 1: add the ttl to what is left, 2: detached  $11 notes, or reasons
-- $12 places of others that end later than so many microseconds from now do not count, NULL: all count
WITH asked AS (
  SELECT *
    FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[],
                $12::bigint[])
         WITH ORDINALITY AS w(verb, key, holder, token, ttl_us, place_us, flags, note, longest_place_us, n)
),
-- include: rule_clock
-- include: rule_judge
chosen AS NOT MATERIALIZED (
  SELECT j.*, j.fits AS likely FROM judged AS j
),
-- include: rule_settle
queue AS (
  SELECT a.n, CASE WHEN a.verb = 'r' AND a.place_us > 0 THEN (pg_catalog.array_remove(a.clients, $3::text))[1]
                   ELSE a.clients[1] END AS next
    FROM answered AS a
   WHERE a.clients IS NOT NULL
     AND (a.outcome IN ('release', 'evict')
          OR (a.verb = 'r' AND a.place_us > 0 AND NOT a.live AND a.clients[1] = $3::text))
)
SELECT a.n,
       CASE WHEN a.outcome IN ('grant', 'renew') THEN 'g'
            WHEN a.outcome IN ('release', 'evict') THEN 'r'
            WHEN NOT a.certain THEN '?'
            WHEN a.verb <> 'a' THEN 'l'
            WHEN NOT a.in_time THEN 'v'
            ELSE 'b' END AS verdict,
       a.sequence AS token, a.locked_by AS holder, {us a.locked_until} AS until_us, {now_us} AS now_us,
       coalesce(pg_catalog.array_position(a.clients, $3::text) - 1, pg_catalog.cardinality(a.clients), 0) AS ahead,
       {us a.first_until} AS first_until_us,
       CASE WHEN q.next IS NOT NULL THEN pg_notify('holdfast_' || q.next, a.key) IS NULL END AS rung
  FROM answered AS a
  LEFT JOIN queue AS q ON q.n = a.n
 ORDER BY a.n;

-- name: acquire
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
         ttl_ms = CASE WHEN l.locked_by IS NULL  -- with ttl
                         OR l.locked_until < {now} + $3::bigint::float8 * interval '1us'  -- with ttl
                       THEN $3::bigint / 1000::bigint ELSE l.ttl_ms END,  -- with ttl
         ttl_until = CASE WHEN l.locked_by IS NULL  -- with ttl
                            OR l.locked_until < {now} + $3::bigint::float8 * interval '1us'  -- with ttl
                          THEN {now} + $3::bigint::float8 * interval '1us' ELSE l.ttl_until END,  -- with ttl
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
  INSERT INTO {locks} (key, locked_by, locked_at, locked_until,
                       ttl_ms, ttl_until,  -- with ttl
                       sequence)
  SELECT $1::text, $2::text, {now}, {now} + $3::bigint::float8 * interval '1us',
         $3::bigint / 1000::bigint, {now} + $3::bigint::float8 * interval '1us',  -- with ttl
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

-- name: again
-- One acquire of a key that was seen free or ours a moment ago: acquire without what is needed for a new key,
-- or to say who has it; a third of the work.  No row: ask acquire.
-- $1 key  $2 holder  $3 ttl in microseconds, NULL: without end  $4 void after this moment, in microseconds
-- $5 wait for a locked row at most so many milliseconds
UPDATE {locks} AS l
   SET locked_by = $2::text,
       locked_at = {now},
       locked_until = {now} + $3::bigint::float8 * interval '1us',
       ttl_ms = $3::bigint / 1000::bigint, ttl_until = {now} + $3::bigint::float8 * interval '1us',  -- with ttl
       sequence = greatest(l.sequence + 1, {now_us})
 WHERE l.key::text = $1::text
   AND l.locked_by IS NULL
   AND l.sequence > 0
   AND NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = $1::text)
   AND {now_us} <= $4::bigint
   AND set_config('lock_timeout', greatest(1, least($5::bigint, ($4::bigint - {now_us}) / 1000))::text, true) IS NOT NULL
RETURNING 'g' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable};

-- name: renew
-- One renewal: never for less than the lease had.  One without end stays so.  No row: it is lost.
-- $1 key  $2 holder  $3 token, 0: any  $4 ttl in microseconds, NULL: without end  $5 add ttl to what is left
-- $6 wait for a locked row at most so many milliseconds
UPDATE {locks} AS l
   SET
       ttl_ms = CASE WHEN $5::boolean AND l.locked_until < {last_day}  -- with ttl
                     THEN (date_part('epoch', date_trunc('milliseconds',  -- with ttl
                             least(l.locked_until + $4::bigint::float8 * interval '1us', {last_day}) - {now}))  -- with ttl
                           * 1000::float8)::bigint  -- with ttl
                     WHEN l.locked_until < {now} + $4::bigint::float8 * interval '1us'  -- with ttl
                     THEN $4::bigint / 1000::bigint ELSE l.ttl_ms END,  -- with ttl
       ttl_until = CASE WHEN $5::boolean  -- with ttl
                        THEN least(l.locked_until + $4::bigint::float8 * interval '1us', {last_day})  -- with ttl
                        WHEN l.locked_until < {now} + $4::bigint::float8 * interval '1us'  -- with ttl
                        THEN {now} + $4::bigint::float8 * interval '1us' ELSE l.ttl_until END,  -- with ttl
       locked_until = CASE WHEN l.locked_until IS NULL OR $4::bigint IS NULL THEN NULL
                           WHEN $5::boolean THEN least(l.locked_until + $4::bigint::float8 * interval '1us', {last_day})
                           ELSE greatest(l.locked_until, {now} + $4::bigint::float8 * interval '1us') END
 WHERE l.key::text = $1::text
   AND l.locked_by::text = $2::text
   AND ($3::bigint = 0 OR l.sequence = $3::bigint)
   AND coalesce(l.locked_until >= {now}, true)
   AND set_config('lock_timeout', $6::bigint::text, true) IS NOT NULL
RETURNING 'g' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable};

-- part: release_rule
-- A lease of `returned` (key, holder, token, 0: any) is given back.  Its row stays, and says since when it is free.
-- More conditions may follow, then release_reply.
UPDATE {locks} AS l
   SET locked_by = NULL, locked_until = {now}
  FROM returned AS g
 WHERE l.key::text = g.key
   AND l.locked_by::text = g.holder
   AND (g.token = 0 OR l.sequence = g.token)
   AND coalesce(l.locked_until >= {now}, true)

-- part: release_reply
-- Rings the first who waits, if anybody does.
RETURNING 'r' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable},
          (SELECT pg_notify('holdfast_' || f.client, g.key) IS NULL
             FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = g.key AND w.until > {now}
                    ORDER BY w.ticket LIMIT 1) AS f) AS rung

-- name: release
-- One release.  No row: it is lost, or its row was changed since our snapshot, by a renewal or by whoever took a place
-- (touched in rule_settle), whom we would not ring: ask apply.
-- $1 key  $2 holder  $3 token, 0: any  $4 wait for a locked row at most so many milliseconds
WITH returned AS NOT MATERIALIZED (
  SELECT $1::text AS key, $2::text AS holder, $3::bigint AS token
)
-- include: release_rule
   AND set_config('lock_timeout', $4::bigint::text, true) IS NOT NULL
   AND l.xmin = (SELECT s.xmin FROM {locks} AS s WHERE s.key::text = $1::text)
-- include: release_reply
;

-- name: lookup
-- What the row says, without waiting for whoever has it locked.
-- $1 key
SELECT l.sequence AS token, l.locked_by::text AS holder, {us l.locked_until} AS until_us,
       {now_us} AS now_us
  FROM {locks} AS l
 WHERE l.key::text = $1::text;

-- name: absent
-- Is a key really absent?  An acquire that was given up may have made its row and not be committed yet: nobody sees
-- it, but whoever makes the same row has to wait for it.  So a free one is made, to be purged like any other.
-- A row: the key was absent.  None: it is there by now, ask again.
-- $1 key  $2 wait for a row that is being made at most so many milliseconds
INSERT INTO {locks} (key, locked_until, sequence)
SELECT $1::text, {now}, 0
 WHERE set_config('lock_timeout', $2::bigint::text, true) IS NOT NULL
ON CONFLICT (key) DO NOTHING
RETURNING 1;

-- part: lease_columns
-- A lease, for people.  A statement that grants reads the clock for each column, so ttl_until may be some microseconds off.
SELECT l.key::text, l.locked_by::text, l.sequence, {us l.locked_until},
       {us l.locked_at}, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = l.key::text AND w.until > {now}), {now_us}
     , CASE WHEN l.ttl_until BETWEEN l.locked_until - interval '10ms' AND l.locked_until + interval '10ms'  -- with ttl
            THEN l.ttl_ms END  -- with ttl
     , NULL::bigint  -- without ttl

-- part: leases_from
-- include: lease_columns
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key::text AND f.token = l.sequence
 WHERE CASE WHEN $2::boolean THEN l.key::text = $1::text ELSE starts_with(l.key::text, $1::text) END

-- name: leases
-- Keys for people, in bytewise order.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 behind this key  $4 so many  $5 also this key: the first page, as a
-- lock of Ruby's may have an empty name
-- include: leases_from
   AND l.key::text COLLATE "C" >= $3::text
   AND ($5::boolean OR l.key::text COLLATE "C" <> $3::text)
 ORDER BY l.key::text COLLATE "C"
 LIMIT $4::bigint;

-- name: leases_by_index
-- As leases, where the index has the keys in bytewise order, as most collations have not: a page costs its own rows only.
-- For another order, though it be the same, the planner does not use the index.
-- include: leases_from
   AND l.key::text >= $3::text
   AND ($5::boolean OR l.key::text <> $3::text)
 ORDER BY l.key::text
 LIMIT $4::bigint;

-- part: held_rows
-- Those of `held`, and those that somebody waits for.
wanted AS MATERIALIZED (
  SELECT h.key FROM held AS h
   UNION
  SELECT w.key
    FROM {waiters} AS w
   WHERE w.until > {now} AND starts_with(w.key, $1::text) AND w.key COLLATE "C" > $2::text
)
-- include: lease_columns
  FROM wanted AS k
 CROSS JOIN LATERAL (SELECT r.key, r.locked_by, r.sequence, r.locked_until, r.locked_at
                            , r.ttl_ms, r.ttl_until  -- with ttl
                       FROM {locks} AS r WHERE r.key::text = k.key LIMIT 1::bigint) AS l
  LEFT JOIN LATERAL (SELECT n.note, n.detached
                       FROM {facts} AS n WHERE n.key = k.key AND n.token = l.sequence LIMIT 1::bigint) AS f ON true
 ORDER BY l.key::text COLLATE "C"
 LIMIT $3::bigint;

-- name: held
-- As leases, without keys that were given back and that nobody waits for.  The table is read once for a page; an index of
-- the keys that are held would make each acquire and each release dearer.
-- $1 prefix  $2 behind this key  $3 so many  $4 also this key
WITH held AS MATERIALIZED (
  SELECT l.key::text AS key
    FROM {locks} AS l
   WHERE l.locked_by IS NOT NULL
     AND starts_with(l.key::text, $1::text)
     AND l.key::text COLLATE "C" >= $1::text
     AND l.key::text COLLATE "C" >= $2::text
     AND ($4::boolean OR l.key::text COLLATE "C" <> $2::text)
   ORDER BY l.key::text COLLATE "C"
   LIMIT $3::bigint
),
-- include: held_rows

-- name: held_by_index
-- As held, where the index has the keys in bytewise order.
WITH held AS MATERIALIZED (
  SELECT l.key::text AS key
    FROM {locks} AS l
   WHERE l.locked_by IS NOT NULL
     AND starts_with(l.key::text, $1::text)
     AND l.key::text >= $1::text
     AND l.key::text >= $2::text
     AND ($4::boolean OR l.key::text <> $2::text)
   ORDER BY l.key::text
   LIMIT $3::bigint
),
-- include: held_rows

-- name: places
-- Live places for people, first in the queue first.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 behind this key  $4 so many
SELECT w.key, w.client, w.waiter, {us w.until}, {now_us}
  FROM {waiters} AS w
 WHERE CASE WHEN $2::boolean THEN w.key = $1::text ELSE starts_with(w.key, $1::text) END
   AND w.key COLLATE "C" > $3::text
   AND w.until > {now}
 ORDER BY w.key COLLATE "C", w.ticket
 LIMIT $4::bigint;

-- name: history
-- What was written down, newest first.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 so many
SELECT {us g.at}, g.key, g.event, g.holder, g.token, g.by, g.reason
  FROM {log} AS g
 WHERE CASE WHEN $2::boolean THEN g.key = $1::text ELSE starts_with(g.key, $1::text) END
 ORDER BY g.id DESC
 LIMIT $3::bigint;

-- name: purge_places
-- Takes away places that have run out; one that somebody has locked just now stays.
-- $1 so many
WITH dead AS MATERIALIZED (
  SELECT w.key, w.client FROM {waiters} AS w WHERE w.until <= {now} LIMIT $1::bigint FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {waiters} AS w USING dead AS d WHERE w.key = d.key AND w.client = d.client RETURNING 1
)
SELECT count(*) FROM gone;

-- name: purge_keys
-- Takes away keys of a part of the table that have been free so long, and remembers the largest of their tokens in
-- the same step.  A key that somebody has locked just now stays, and so does one whose token is ahead of the clock:
-- all new keys would have to start behind it.  So do rows that nobody has ever locked: a Ruby process makes them a
-- moment before it locks them.
-- $1 behind this key  $2 free for so many microseconds, NULL: none  $3 so many rows are looked at
WITH part AS MATERIALIZED (
  SELECT l.key::text AS key FROM {locks} AS l WHERE l.key::text > $1::text ORDER BY l.key::text LIMIT $3::bigint
), free AS MATERIALIZED (
  SELECT l.key::text AS key
    FROM part AS p
    JOIN {locks} AS l ON l.key::text = p.key
   WHERE l.locked_until < {now} - $2::bigint::float8 * interval '1us'
     AND coalesce(l.sequence, 0) < {now_us}
     AND NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = p.key AND w.until > {now})
     FOR UPDATE OF l SKIP LOCKED
), gone AS (
  DELETE FROM {locks} AS l USING free AS f WHERE l.key::text = f.key RETURNING f.key, l.sequence
), noted AS (
  UPDATE {state} AS s
     SET purged_token = greatest(s.purged_token, (SELECT max(abs(g.sequence)) FROM gone AS g))
   WHERE EXISTS (SELECT FROM gone)
), facts AS (
  DELETE FROM {facts} AS f USING gone AS g WHERE f.key = g.key
)
SELECT (SELECT count(*) FROM part), (SELECT max(key) FROM part), (SELECT count(*) FROM gone),
       {durable};

-- name: purge_log
-- Takes away what was written down so long ago.
-- $1 so many microseconds
WITH gone AS (
  DELETE FROM {log} AS g WHERE g.at <= {now} - $1::bigint::float8 * interval '1us' RETURNING 1
)
SELECT count(*) FROM gone;
