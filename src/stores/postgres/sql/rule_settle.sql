-- SPDX-License-Identifier: Apache-2.0
-- A part of apply.sql and of job_claim.sql, the rule of leases: those of `chosen` that are likely are decided on the
-- newest version of their rows, and all are answered.
-- {client}, {void_after}: as in the parts before
made AS (
  INSERT INTO {locks} (key, locked_by, locked_at, locked_until, sequence)
  SELECT j.key, j.holder, j.now, j.now + j.ttl,
         greatest(coalesce((SELECT s.purged_token FROM {state} AS s), 0) + 1, {now_us})
    FROM chosen AS j
   WHERE j.verb = 'a' AND j.likely AND NOT j.known
   ORDER BY j.n
  ON CONFLICT (key) DO NOTHING
  RETURNING key::text AS key, locked_by::text AS locked_by, sequence, locked_until
), locked AS MATERIALIZED (
  SELECT j.n, j.key, j.verb, j.holder, j.token, j.ttl, j.place_us, j.flags, j.note, j.clients, j.first_client,
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
              THEN CASE WHEN s.verb = 'a' AND s.now_us <= {void_after} AND coalesce(s.first_client = {client}, true)
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
), touched AS (  -- by a place that is new, so that a release which has not seen it has to look again
  UPDATE {locks} AS l
     SET locked_by = l.locked_by
    FROM decided AS d
   WHERE l.key::text = d.key AND d.outcome = 'nothing' AND d.verb = 'a' AND d.place_us > 0
     AND NOT coalesce({client} = ANY (d.clients), false)
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
     AND CASE WHEN p.client = {client} THEN a.outcome = 'grant' OR (a.verb = 'r' AND a.place_us > 0)
              ELSE a.outcome = 'grant'
                   AND (p.until <= a.now OR p.until > a.now + a.longest_place_us::float8 * interval '1us') END
   ORDER BY p.key, p.client
     FOR UPDATE OF p SKIP LOCKED
), dropped AS (
  DELETE FROM {waiters} AS p USING left_over AS g WHERE p.key = g.key AND p.client = g.client
), kept AS (
  INSERT INTO {waiters} AS p (key, client, waiter, until)
  SELECT a.key, {client}, a.holder, a.now + a.place_us::float8 * interval '1us'
    FROM answered AS a
   WHERE a.verb = 'a' AND a.place_us > 0 AND a.outcome = 'nothing' AND a.in_time
   ORDER BY a.n
  ON CONFLICT (key, client) DO UPDATE
     SET waiter = excluded.waiter, until = excluded.until,
         ticket = CASE WHEN p.until <= {now} THEN excluded.ticket ELSE p.ticket END
), queue AS (
  SELECT a.n, CASE WHEN a.verb = 'r' AND a.place_us > 0 THEN (pg_catalog.array_remove(a.clients, {client}))[1]
                   ELSE a.clients[1] END AS next
    FROM answered AS a
   WHERE a.clients IS NOT NULL
     AND (a.outcome IN ('release', 'evict')
          OR (a.verb = 'r' AND a.place_us > 0 AND NOT a.live AND a.clients[1] = {client}))
)
