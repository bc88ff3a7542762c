-- SPDX-License-Identifier: Apache-2.0
-- Any mixture of requests, one for each key, in one step.
--
-- What the snapshot says is busy or lost needs no row lock, no write and no fsync.  The rest is locked in the
-- order given, which is the bytewise order of keys for everybody, and decided on the newest version of each row.
-- New rows are made first: nobody waits for them but others who make them, so no circle of waiting can close.
--
-- $1 verbs: a acquire, n renew, r release, e evict  $2 keys  $3 holders  $4 tokens, 0: any
-- $5 ttls in microseconds, NULL: without end  $6 places in microseconds, 0: none
-- $7 1: add the ttl to what is left, 2: detached  $8 notes, or reasons
-- $9 client  $10 acquires are void after this moment, in microseconds
-- $11 wait for locked rows at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {now} AS now, {now_us} <= $10::bigint AS in_time,
         set_config('synchronous_commit', 'on', true) AS synchronous_commit,
         set_config('lock_timeout',
                    greatest(1, least($11::bigint, ($10::bigint - {now_us}) / 1000))::text, true) AS lock_timeout
), wanted AS MATERIALIZED (
  SELECT w.*, w.ttl_us::float8 * interval '1us' AS ttl, c.now, c.in_time,
         l.key IS NOT NULL AS known, l.locked_by::text AS locked_by, l.locked_until, l.sequence,
         l.locked_by IS NOT NULL AND coalesce(l.locked_until >= c.now, true) AS live,
         q.places, q.clients, q.first_until
    FROM clock AS c
   CROSS JOIN unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
         WITH ORDINALITY AS w(verb, key, holder, token, ttl_us, place_us, flags, note, n)
    LEFT JOIN {locks} AS l ON l.key::text = w.key
   CROSS JOIN LATERAL (
         SELECT count(*) AS places,
                pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.until > c.now) AS clients,
                (pg_catalog.array_agg(p.until ORDER BY p.ticket) FILTER (WHERE p.until > c.now))[1] AS first_until
           FROM {waiters} AS p
          WHERE p.key = w.key AND w.verb <> 'n') AS q
), judged AS MATERIALIZED (  -- by the snapshot
  SELECT w.*,
         CASE w.verb
           WHEN 'a' THEN w.in_time
                         AND CASE WHEN w.live THEN w.locked_by = w.holder
                                  ELSE w.clients IS NULL OR w.clients[1] = $9::text END
           WHEN 'e' THEN w.live AND w.sequence = w.token
           ELSE w.live AND w.locked_by = w.holder AND (w.token = 0 OR w.token = w.sequence)
         END AS likely
    FROM wanted AS w
), made AS (
  INSERT INTO {locks} (key, locked_by, locked_at, locked_until, sequence)
  SELECT j.key, j.holder, j.now, j.now + j.ttl,
         greatest(coalesce((SELECT s.purged_token FROM {state} AS s), 0) + 1, {now_us})
    FROM judged AS j
   WHERE j.verb = 'a' AND j.likely AND NOT j.known
   ORDER BY j.n
  ON CONFLICT (key) DO NOTHING
  RETURNING key::text AS key, locked_by::text AS locked_by, sequence, locked_until
), locked AS MATERIALIZED (
  SELECT j.n, j.key, j.verb, j.holder, j.token, j.ttl, j.flags, j.note, j.clients,
         l.locked_by::text AS locked_by, l.locked_at, l.locked_until, l.sequence
    FROM judged AS j
    JOIN {locks} AS l ON l.key::text = j.key
   WHERE (j.likely OR (j.verb = 'a' AND j.place_us > 0 AND j.in_time AND $9::text = ANY (j.clients)))
     AND j.known AND (SELECT count(*) FROM made) IS NOT NULL
   ORDER BY j.n
     FOR NO KEY UPDATE OF l
), seen AS MATERIALIZED (  -- on the clock again: the locks may have been waited for
  SELECT d.*, {now} AS now, {now_us} AS now_us FROM locked AS d
), decided AS MATERIALIZED (
  SELECT s.*, s.locked_by IS NOT NULL AND coalesce(s.locked_until >= s.now, true) AS live,
         CASE WHEN s.locked_by IS NULL OR s.locked_until < s.now
              THEN CASE WHEN s.verb = 'a' AND s.now_us <= $10::bigint AND coalesce(s.clients[1] = $9::text, true)
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
         sequence = CASE WHEN d.outcome = 'grant'
                         THEN greatest(coalesce(nullif(d.sequence, 0), (SELECT s.purged_token FROM {state} AS s), 0) + 1,
                                       d.now_us)
                         ELSE d.sequence END
    FROM decided AS d
   WHERE l.key::text = d.key AND d.outcome <> 'nothing'
  RETURNING d.n, d.outcome, l.locked_by::text AS locked_by, l.locked_until, l.sequence
), answered AS MATERIALIZED (
  SELECT j.n, j.verb, j.key, j.holder, j.place_us, j.flags, j.note, j.now, j.in_time, j.likely,
         j.places, j.clients, j.first_until,
         CASE WHEN m.key IS NOT NULL THEN 'grant' ELSE coalesce(c.outcome, 'nothing') END AS outcome,
         m.key IS NOT NULL OR d.n IS NOT NULL OR NOT j.likely AS certain,
         CASE WHEN m.key IS NOT NULL THEN m.locked_by WHEN c.n IS NOT NULL THEN c.locked_by
              WHEN d.n IS NOT NULL THEN d.locked_by ELSE j.locked_by END AS locked_by,
         CASE WHEN m.key IS NOT NULL THEN m.locked_until WHEN c.n IS NOT NULL THEN c.locked_until
              WHEN d.n IS NOT NULL THEN d.locked_until ELSE j.locked_until END AS locked_until,
         coalesce(m.sequence, c.sequence, d.sequence, j.sequence) AS sequence,
         coalesce(d.live, j.live) AS live
    FROM judged AS j
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
     AND CASE WHEN p.client = $9::text THEN a.outcome = 'grant' OR (a.verb = 'r' AND a.place_us > 0)
              ELSE a.outcome = 'grant' AND p.until <= a.now END
   ORDER BY p.key, p.client
     FOR UPDATE OF p SKIP LOCKED
), dropped AS (
  DELETE FROM {waiters} AS p USING left_over AS g WHERE p.key = g.key AND p.client = g.client
), kept AS (
  INSERT INTO {waiters} AS p (key, client, waiter, until)
  SELECT a.key, $9::text, a.holder, a.now + a.place_us::float8 * interval '1us'
    FROM answered AS a
   WHERE a.verb = 'a' AND a.place_us > 0 AND a.outcome = 'nothing' AND a.in_time
   ORDER BY a.n
  ON CONFLICT (key, client) DO UPDATE
     SET waiter = excluded.waiter, until = excluded.until,
         ticket = CASE WHEN p.until <= {now} THEN excluded.ticket ELSE p.ticket END
), queue AS (
  SELECT a.n, CASE WHEN a.verb = 'r' AND a.place_us > 0 THEN (pg_catalog.array_remove(a.clients, $9::text))[1]
                   ELSE a.clients[1] END AS next
    FROM answered AS a
   WHERE a.clients IS NOT NULL
     AND (a.outcome IN ('release', 'evict')
          OR (a.verb = 'r' AND a.place_us > 0 AND NOT a.live AND a.clients[1] = $9::text))
)
SELECT a.n,
       CASE WHEN a.outcome IN ('grant', 'renew') THEN 'g'
            WHEN a.outcome IN ('release', 'evict') THEN 'r'
            WHEN NOT a.certain THEN '?'
            WHEN a.verb <> 'a' THEN 'l'
            WHEN NOT a.in_time THEN 'v'
            ELSE 'b' END AS verdict,
       a.sequence AS token, a.locked_by AS holder, date_part('epoch', a.locked_until) * 1000000::float8 AS until_us, {now_us} AS now_us,
       coalesce(pg_catalog.array_position(a.clients, $9::text) - 1, pg_catalog.cardinality(a.clients), 0) AS ahead,
       date_part('epoch', a.first_until) * 1000000::float8 AS first_until_us,
       CASE WHEN q.next IS NOT NULL THEN pg_notify('holdfast_' || q.next, a.key) IS NULL END AS rung
  FROM answered AS a
  LEFT JOIN queue AS q ON q.n = a.n
 ORDER BY a.n;
