-- SPDX-License-Identifier: Apache-2.0
-- Claims the next job and acquires its lock, in one step.
--
-- It is one statement, and then all of it is decided on the newest version of each row that matters, save two things:
-- whether a job that finds its lock held is the first that waits for it, and that a lock which its dead worker held is
-- given back and acquired at once (a row can be changed once in a statement).  Then nothing is changed but "careful" is
-- answered: job_hold.sql locks the job and its leases, and the same text as here is run behind it in one transaction,
-- with a newer snapshot.  Whoever frees a lock changes its row first and looks for those who wait for it in a second
-- statement (job_finish.sql, job_unpark.sql): so one of the two sees the other, and no job sleeps beside a free lock.
--
-- Outcomes: nothing, running, dropped, raised, poisoned, parked, careful; again: somebody was faster, nothing changed;
-- passed: what its dead worker held cannot be given back, as somebody has its row locked: it stays that worker's for a
-- moment more, so that it is not forgotten whose the lease is.
--
-- $1 queues  $2 holder  $3 ttl of the claim in microseconds  $4 so many crashes are too many
-- $5 client  $6 void after this moment, in microseconds  $7 wait for locked rows at most so many milliseconds
-- $8 a lease whose row somebody has locked is not waited for but taken as held
-- $9 places of waiters that end later than so many microseconds from now do not count, NULL: all count
WITH RECURSIVE {clock}, {pick}, job AS MATERIALIZED (
  SELECT p.*, p.state = 'running' AS recovered,
         p.state = 'running' AND p.crashes + 1 >= $4::bigint AS poisoned,
         p.state = 'running' AND p.lock <> '' AND NOT {careful} AS holding,
         {careful} AND {skip} AND p.state = 'running'
         AND EXISTS (SELECT FROM {locks} AS l
                      WHERE l.key::text = p.lock AND l.locked_by::text = p.holder AND l.sequence = p.token
                        AND coalesce(l.locked_until >= {now}, true)) AS passed
    FROM picked AS p
), names AS MATERIALIZED (
  {names}
), asked AS MATERIALIZED (
  SELECT 'a'::text AS verb, n.lock AS key, $2::text AS holder, 0::bigint AS token, j.lock_ttl AS ttl_us,
         0::bigint AS place_us, 0::bigint AS flags, ''::text AS note, $9::bigint AS longest_place_us, n.n
    FROM job AS j
   CROSS JOIN names AS n
   WHERE NOT j.poisoned AND NOT j.holding AND NOT j.passed
), {judge}, untouched AS MATERIALIZED (
  {untouched}
), chosen AS MATERIALIZED (
  SELECT g.*, g.fits AND g.n = (SELECT min(f.n) FROM judged AS f
                                 WHERE f.fits AND (NOT {skip} OR NOT f.known
                                                   OR f.key IN (SELECT u.lock FROM untouched AS u))) AS likely
    FROM judged AS g
), {settle}, fate AS MATERIALIZED (
  SELECT j.*, c.now, g.key AS lock_taken, g.sequence AS token_taken, g.locked_until AS lock_until,
         coalesce((SELECT a.locked_by FROM answered AS a WHERE a.n = 1 AND a.live),
                  CASE WHEN {skip} THEN '(a transaction that has its row locked)' ELSE '' END) AS blocker,
         (SELECT min(CASE WHEN a.live THEN a.locked_until ELSE coalesce(a.first_until, c.now) END)
            FROM answered AS a) AS free_at,
         f.first,
         CASE WHEN j.holding THEN 'careful'
              WHEN j.passed THEN 'passed'
              WHEN j.poisoned THEN 'poisoned'
              WHEN j.lock_limit = 0 OR g.key IS NOT NULL THEN 'running'
              WHEN EXISTS (SELECT FROM chosen AS h JOIN answered AS a ON a.n = h.n
                            WHERE h.likely AND (NOT a.certain OR j.lock_limit > 1)) THEN 'again'
              WHEN j.started_at IS NOT NULL OR j.on_conflict IN ('wait', 'replace')
              THEN CASE WHEN {careful} OR {skip} THEN 'parked' ELSE 'careful' END
              WHEN j.on_conflict = 'drop' THEN 'dropped'
              ELSE 'raised' END AS outcome
    FROM job AS j
   CROSS JOIN clock AS c
    LEFT JOIN answered AS g ON g.outcome IN ('grant', 'renew')
   CROSS JOIN LATERAL (  -- of those that wait for its lock
         SELECT NOT EXISTS (
                SELECT FROM (SELECT w.priority, w.run_at, w.id FROM {jobs} AS w
                              WHERE w.parked AND w.state = 'queued' AND w.due_at <> w.run_at AND w.key = j.key
                                AND w.due_at > c.now AND w.id <> j.id
                              ORDER BY w.priority, w.run_at, w.id LIMIT 1) AS w
                 WHERE (w.priority, w.run_at, w.id) < (j.priority, j.run_at, j.id)) AS first) AS f
), noticed AS MATERIALIZED (
  SELECT f.*, CASE WHEN f.recovered AND f.outcome <> 'passed' THEN {note f.trail | f.now | 'crashed' | f.holder} ELSE f.trail END AS told
    FROM fate AS f
), written AS (
  UPDATE {jobs} AS j
     SET state = CASE f.outcome WHEN 'parked' THEN 'queued' WHEN 'dropped' THEN 'dropped' WHEN 'poisoned' THEN 'dead'
                                ELSE 'running' END,
         crashes = f.crashes + CASE WHEN f.recovered AND f.outcome <> 'passed' THEN 1 ELSE 0 END,
         trail = CASE WHEN f.outcome = 'parked' AND NOT f.parked THEN {note f.told | f.now | 'parked' | ''} ELSE f.told END,
         attempt = f.attempt + CASE WHEN f.outcome IN ('running', 'raised') THEN 1 ELSE 0 END,
         started_at = CASE WHEN f.outcome IN ('running', 'raised') THEN f.now ELSE f.started_at END,
         finished_at = CASE WHEN f.outcome IN ('dropped', 'poisoned') THEN f.now END,
         holder = CASE WHEN f.outcome IN ('running', 'raised') THEN $2::text ELSE f.holder END,
         lock = CASE f.outcome WHEN 'running' THEN coalesce(f.lock_taken, '') WHEN 'passed' THEN f.lock ELSE '' END,
         token = CASE f.outcome WHEN 'running' THEN coalesce(f.token_taken, 0) WHEN 'passed' THEN f.token ELSE 0 END,
         claim_until = CASE WHEN f.outcome = 'passed' THEN f.now + {scout_pause}
                            WHEN f.outcome IN ('running', 'raised')
                            THEN coalesce(f.now + $3::bigint::float8 * interval '1us', {last_day}) END,
         parked = f.outcome = 'parked',
         due_at = CASE WHEN f.outcome <> 'parked' THEN f.due_at
                       WHEN {skip} THEN f.now + {scout_pause}  -- when the row is let go, its lease does not say
                       WHEN NOT f.first THEN f.now + {parked_pause}
                       ELSE f.now + greatest(interval '10ms', least(coalesce(f.free_at - f.now, {scout_pause}),
                                                                    {scout_pause})) END,
         slot = CASE WHEN f.outcome = 'dropped' OR (f.outcome = 'poisoned' AND f.uniqueness <> 'until_success')
                       OR (f.outcome IN ('running', 'raised') AND f.uniqueness = 'until_start') THEN NULL
                     ELSE f.slot END,
         error = CASE f.outcome WHEN 'dropped' THEN f.blocker
                                WHEN 'poisoned' THEN 'its worker died ' || (f.crashes + 1)::text || ' times'
                                ELSE f.error END
    FROM noticed AS f
   WHERE j.id = f.id AND f.outcome NOT IN ('again', 'careful')
  RETURNING j.*
), woken AS (
  {unpark}
)
SELECT coalesce(f.outcome, 'nothing') AS outcome, {now_us} AS now_us, f.recovered, {us f.lock_until} AS lock_until_us,
       f.blocker, CASE WHEN f.id IS NULL THEN {next} END AS next_ms,
       {row}
  FROM clock AS c
  LEFT JOIN fate AS f ON true
  LEFT JOIN written AS j ON true;
