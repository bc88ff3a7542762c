-- SPDX-License-Identifier: Apache-2.0
-- Jobs, next to the lock table.  Words in braces, and the rule of leases that a claim takes its lock by: see leases.sql.
--
-- A lock becomes free in one statement, and those who wait for it are looked for in a second one with a newer snapshot
-- (finish, then unpark); `claim` says why.

-- part: job_row
-- All that is told of the job j, in the order of core/job_fields.h; the end of its claim counts from now, in microseconds.
       j.id, j.name, j.queue, j.args, j.key, j.priority, {us j.enqueued_at}, j.max_attempts, j.lock_ttl, j.lock_fixed,
       j.lock_limit, j.on_conflict, j.uniqueness, j.state, {us j.run_at}, {us j.due_at}, {us j.started_at},
       {us j.finished_at}, j.attempt, j.crashes, j.slot IS NOT NULL AS slotted, j.parked, j.holder, j.lock, j.token,
       CASE WHEN j.state = 'running'
            THEN greatest(0, ceil(date_part('epoch', j.claim_until - {now}) * 1000000::float8)::bigint) ELSE 0 END
         AS claim_remaining_us, j.error, j.duplicates, j.trail

-- part: note
-- A trail with one more line at its end, "MICROS EVENT DETAIL", for e (trail, at_us, event, detail): n.trail.  The moment is
-- that of the columns which the statement sets, or what it did would be told in another order.  The oldest lines go when it
-- gets longer than 8000 bytes (core::longest_trail); letters of several bytes are counted as if all of them stood at its end.
  CROSS JOIN LATERAL (SELECT e.trail || replace(e.at_us::text || ' ' || e.event || ' ' || e.detail, chr(10), ' '::text)
                             || chr(10) AS text) AS t
  CROSS JOIN LATERAL (SELECT right(t.text, greatest(0, 8000 - octet_length(t.text) + length(t.text))) AS text) AS r
  CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(t.text) <= 8000 THEN t.text
                                  ELSE substr(r.text, strpos(r.text, chr(10)) + 1) END AS trail) AS n

-- part: woken
-- If there is a row in `freed` (key, id, scouts), the first of the jobs that wait for the lock of that key, but not the job
-- `id`, is due: at once, or, where it only has to look whether it is its turn (scouts), within a second.  One that somebody
-- has locked is passed over: it is being claimed or ended just now, and its claim sees that the lock is free, or it sees to
-- the next; or it is a caller's open transaction that replaces it, and it looks for itself, at the latest a minute
-- (core::parked_pause) after it was parked.  To wait for it would make whoever ends a job wait for that transaction.
woken AS (
  UPDATE {jobs} AS u
     SET due_at = CASE WHEN (SELECT f.scouts FROM freed AS f) THEN least(u.due_at, {now} + interval '1s') ELSE u.run_at END
   WHERE u.id = (SELECT w.id FROM {jobs} AS w
                  WHERE w.parked AND w.state = 'queued' AND w.due_at <> w.run_at
                    AND w.key = (SELECT f.key FROM freed AS f)
                    AND w.due_at > {now} AND w.id <> (SELECT f.id FROM freed AS f)
                  ORDER BY w.priority, w.run_at, w.id LIMIT 1
                    FOR UPDATE SKIP LOCKED)
  RETURNING u.id
)

-- name: enqueue
-- Enqueues a job, in one step: its tick is not taken yet, nobody is in its slot, nobody holds its lock; asked in this
-- order.  Whoever makes a job of the same slot at the same time is waited for: who is undone was never there.
--
-- Verdicts: e enqueued, r replaced, d duplicate, l locked; t: its tick has a row now, ask again; p: the job that has
-- had its tick is gone, or younger than our snapshot.
--
-- $1 name  $2 queue  $3 args  $4 priority  $5 not before this moment, in microseconds, NULL: $6 from now
-- $6 microseconds  $7 attempts  $8 key  $9 ttl of its lock in microseconds, NULL: without end  $10 not renewed
-- $11 limit  $12 on conflict  $13 unique  $14 name of its tick, NULL: none  $15 tick
-- $16 window in microseconds, NULL: none  $17 wait for locked rows at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {now} AS now, {now_us} AS now_us, {durable} AS durable,
         set_config('lock_timeout', greatest(1, $17::bigint)::text, true) AS lock_timeout
), wanted AS MATERIALIZED (
  SELECT c.now, c.now_us, coalesce(c.now_us - c.now_us % $16::bigint, $15::bigint) AS tick,
         timestamp 'epoch' + (c.now_us - c.now_us % $16::bigint + $16::bigint)::float8 * interval '1us' AS tick_until,
         coalesce(timestamp 'epoch' + $5::bigint::float8 * interval '1us',
                  c.now + $6::bigint::float8 * interval '1us') AS run_at,
         CASE WHEN $13::text <> 'no' THEN 'loner:' || $8::text END AS slot
    FROM clock AS c
), last AS MATERIALIZED (
  SELECT t.tick, t.job, t.at
    FROM wanted AS w
   CROSS JOIN LATERAL (  -- it asks the clock, so that it is known how long the row is waited for
         SELECT t.* FROM {ticks} AS t WHERE t.name = $14::text AND w.now IS NOT NULL FOR UPDATE) AS t
), row_made AS (  -- so that there is something to lock
  INSERT INTO {ticks} (name, tick, until)
  SELECT $14::text, -1, w.tick_until
    FROM wanted AS w
   WHERE $14::text IS NOT NULL AND NOT EXISTS (SELECT FROM last)
  ON CONFLICT (name) DO NOTHING
), turn AS MATERIALIZED (
  SELECT w.*,
         CASE WHEN $14::text IS NULL THEN 'ours'
              WHEN NOT EXISTS (SELECT FROM last) THEN 'unknown'
              WHEN (SELECT t.tick FROM last AS t) < w.tick THEN 'ours'
              ELSE 'had' END AS turn,
         CASE WHEN $13::text IN ('loner', 'until_success') AND $11::bigint = 1
                   AND NOT EXISTS (SELECT FROM {jobs} AS j WHERE j.slot = w.slot)
              THEN (SELECT l.locked_by::text FROM {locks} AS l
                     WHERE l.key::text = $8::text AND l.locked_by IS NOT NULL
                       AND coalesce(l.locked_until >= w.now, true)) END AS holder
    FROM wanted AS w
), had AS (
  UPDATE {jobs} AS j
     SET duplicates = j.duplicates + 1
    FROM last AS t, turn AS r
   WHERE r.turn = 'had' AND j.id = t.job
  RETURNING j.id, j.state, j.enqueued_at
), enqueued AS (
  INSERT INTO {jobs} AS j (name, queue, args, key, priority, state, enqueued_at, run_at, due_at, max_attempts, lock_ttl,
                           lock_fixed, lock_limit, on_conflict, uniqueness, slot)
  SELECT $1::text, $2::text, $3::text, $8::text, $4::bigint, 'queued', r.now, r.run_at, r.run_at, $7::bigint,
         $9::bigint, $10::boolean, $11::bigint, $12::text, $13::text, r.slot
    FROM turn AS r
   WHERE r.turn = 'ours' AND r.holder IS NULL
  ON CONFLICT (slot) DO UPDATE
     SET duplicates = j.duplicates + 1,
         (args, priority, run_at, due_at, parked, attempt, crashes, max_attempts, error, trail) = (
         SELECT excluded.args, excluded.priority, excluded.run_at,
                -- One that waits for its lock goes on doing so, unless its time has not come: then others are before it.
                CASE WHEN NOT j.parked OR excluded.run_at > c.now THEN excluded.run_at ELSE j.due_at END,
                j.parked AND NOT excluded.run_at > c.now,
                0::bigint, 0::bigint, excluded.max_attempts, '',
                (SELECT n.trail FROM (SELECT j.trail, {us excluded.enqueued_at} AS at_us, 'replaced' AS event, '' AS detail) AS e
-- include: note
                )
           FROM clock AS c
          WHERE $12::text = 'replace' AND j.state = 'queued'
          UNION ALL
         SELECT j.args, j.priority, j.run_at, j.due_at, j.parked, j.attempt, j.crashes, j.max_attempts, j.error, j.trail
          WHERE NOT ($12::text = 'replace' AND j.state = 'queued'))
  RETURNING j.id, j.state, j.enqueued_at, j.run_at, j.duplicates = 0 AS is_new,
            j.duplicates > 0 AND $12::text = 'replace' AND j.state = 'queued' AS replaced
), ticked AS (
  UPDATE {ticks} AS t
     SET tick = r.tick, job = e.id, at = r.now, by = '', until = r.tick_until
    FROM enqueued AS e, turn AS r
   WHERE e.is_new AND t.name = $14::text
), freed AS MATERIALIZED (  -- whether or not the one that was put off was parked: the next only looks
  SELECT $8::text AS key, e.id, false AS scouts
    FROM enqueued AS e
    JOIN clock AS c ON e.run_at > c.now
   WHERE e.replaced
),
-- include: woken
SELECT CASE WHEN e.is_new THEN 'e' WHEN e.replaced THEN 'r' WHEN e.id IS NOT NULL OR h.id IS NOT NULL THEN 'd'
            WHEN r.turn = 'unknown' THEN 't' WHEN r.turn = 'had' THEN 'p' ELSE 'l' END AS verdict,
       coalesce(e.id, h.id, t.job) AS id, coalesce(e.state, h.state, 'done') AS state,
       {us coalesce(e.enqueued_at, h.enqueued_at, t.at)} AS since_us, r.holder, r.now_us
  FROM turn AS r
  LEFT JOIN enqueued AS e ON true
  LEFT JOIN had AS h ON true
  LEFT JOIN last AS t ON true;

-- part: job_heads
-- Of the queue q and the priority w the first of either kind, due or not.
SELECT a.* FROM (
       SELECT true AS straight, j.run_at, j.id, j.run_at AS due_at FROM {jobs} AS j
        WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = q.name AND j.priority = w.priority
        ORDER BY j.run_at, j.id LIMIT 1) AS a
 UNION ALL
SELECT b.* FROM (
       SELECT false, j.run_at, j.id, j.due_at FROM {jobs} AS j
        WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = q.name AND j.priority = w.priority
        ORDER BY j.due_at, j.id LIMIT 1) AS b

-- part: job_pick
-- The job that is claimed next from any of `queues`, locked; what others have locked is passed over.  A claim that has run
-- out comes first.  Else, priority by priority, of each queue the first job: a few steps down an index each, however many
-- jobs wait behind it, for their time or for their lock.  It ends with the first that is due.
lapsed AS MATERIALIZED (
  SELECT e.*
    FROM clock AS c
   CROSS JOIN queues AS q
   CROSS JOIN LATERAL (
         SELECT j.* FROM {jobs} AS j
          WHERE j.state = 'running' AND j.queue = q.name AND j.claim_until <= c.now
          ORDER BY j.claim_until LIMIT 1
            FOR UPDATE SKIP LOCKED) AS e
   WHERE c.in_time
   LIMIT 1
), walk AS (  -- the priorities, the smallest first, one step each; no further than somebody asks
  SELECT (SELECT min(p.priority)
            FROM queues AS q
           CROSS JOIN LATERAL ((SELECT j.priority FROM {jobs} AS j
                                WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = q.name
                                ORDER BY j.priority LIMIT 1)
                               UNION ALL
                               (SELECT j.priority FROM {jobs} AS j
                                WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = q.name
                                ORDER BY j.priority LIMIT 1)) AS p) AS priority
   UNION ALL
  SELECT (SELECT min(p.priority)
            FROM queues AS q
           CROSS JOIN LATERAL ((SELECT j.priority FROM {jobs} AS j
                                WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = q.name AND j.priority > w.priority
                                ORDER BY j.priority LIMIT 1)
                               UNION ALL
                               (SELECT j.priority FROM {jobs} AS j
                                WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = q.name AND j.priority > w.priority
                                ORDER BY j.priority LIMIT 1)) AS p)
    FROM walk AS w
   WHERE w.priority IS NOT NULL
), first_due AS MATERIALIZED (  -- lanes in order, and no lane is touched behind the first that has a job for us
  SELECT f.*
    FROM walk AS w
   CROSS JOIN LATERAL (
         SELECT g.*
           FROM (SELECT q.name AS queue, h.straight, c.now
                   FROM queues AS q
                  CROSS JOIN clock AS c
                  CROSS JOIN LATERAL (
-- include: job_heads
) AS h
                  WHERE h.due_at <= c.now
                  ORDER BY h.run_at, h.id) AS r
          CROSS JOIN LATERAL (
                SELECT a.* FROM (
                       SELECT j.* FROM {jobs} AS j
                        WHERE r.straight AND j.state = 'queued' AND j.due_at = j.run_at
                          AND j.queue = r.queue AND j.priority = w.priority AND j.run_at <= r.now
                        ORDER BY j.run_at, j.id LIMIT 1
                          FOR UPDATE SKIP LOCKED) AS a
                 UNION ALL
                SELECT b.* FROM (
                       SELECT j.* FROM {jobs} AS j
                        WHERE NOT r.straight AND j.state = 'queued' AND j.due_at <> j.run_at
                          AND j.queue = r.queue AND j.priority = w.priority AND j.due_at <= r.now
                        ORDER BY j.due_at, j.id LIMIT 1
                          FOR UPDATE SKIP LOCKED) AS b) AS g
          LIMIT 1) AS f
   WHERE (SELECT c.in_time FROM clock AS c) AND NOT EXISTS (SELECT FROM lapsed)
   LIMIT 1
), picked AS MATERIALIZED (
  SELECT * FROM lapsed UNION ALL SELECT * FROM first_due
),

-- part: job_damage
-- The column of p with a value that no version of Holdfast has written, as somebody has changed it by hand; NULL: none.
CASE WHEN p.lock_limit NOT BETWEEN 0 AND 1000 THEN 'lock_limit'  -- core::largest_limit
     WHEN p.on_conflict NOT IN ('drop', 'wait', 'raise', 'replace') THEN 'on_conflict'
     WHEN p.uniqueness NOT IN ('no', 'loner', 'until_start', 'until_success') THEN 'uniqueness' END AS damaged,

-- part: job_names
-- The leases that `picked` may run under, the first that is free; none if its limit is damaged.  The planner takes an array to be short, and a series to
-- be long: too long to do without compiling the plan (jit).
names AS MATERIALIZED (
  SELECT n.n, CASE WHEN p.lock_limit = 1 THEN p.key ELSE p.key || '#' || n.n::text END AS lock
    FROM picked AS p
   CROSS JOIN LATERAL pg_catalog.unnest(ARRAY(SELECT pg_catalog.generate_series(1::bigint, CASE WHEN p.lock_limit <= 1000 THEN p.lock_limit END))) AS n(n)
),

-- part: job_untouched
-- The leases whose rows nobody else has locked, where that is asked.
untouched AS MATERIALIZED (
  SELECT n.lock
    FROM names AS n
    JOIN {locks} AS l ON l.key::text = n.lock
   WHERE $4::boolean
     FOR NO KEY UPDATE OF l SKIP LOCKED
),

-- part: claim_rule
-- What becomes of `job`: the one that was picked, whether this is the careful way (careful), whether its worker has died
-- (recovered) too often (poisoned), and whether a lease of that worker has to be given back first (holding) or cannot be
-- (passed).
-- include: job_names
asked AS MATERIALIZED (
  SELECT 'a'::text AS verb, n.lock AS key, $5::text AS holder, 0::bigint AS token, j.lock_ttl AS ttl_us,
         0::bigint AS place_us, 0::bigint AS flags, ''::text AS note, $8::bigint AS longest_place_us, n.n
    FROM job AS j
   CROSS JOIN names AS n
   WHERE NOT j.poisoned AND NOT j.holding AND NOT j.passed AND j.damaged IS NULL
),
-- include: rule_judge
-- include: job_untouched
chosen AS MATERIALIZED (
  SELECT g.*, g.fits AND g.n = (SELECT min(f.n) FROM judged AS f
                                 WHERE f.fits AND (NOT $4::boolean OR NOT f.known
                                                   OR f.key IN (SELECT u.lock FROM untouched AS u))) AS likely
    FROM judged AS g
),
-- include: rule_settle
fate AS MATERIALIZED (
  SELECT j.*, c.now, g.key AS lock_taken, g.sequence AS token_taken, g.locked_until AS lock_until,
         coalesce((SELECT a.locked_by FROM answered AS a WHERE a.n = 1 AND a.live),
                  CASE WHEN $4::boolean THEN '(a transaction that has its row locked)' ELSE '' END) AS blocker,
         (SELECT min(CASE WHEN a.live THEN a.locked_until ELSE coalesce(a.first_until, c.now) END)
            FROM answered AS a) AS free_at,
         f.first,
         CASE WHEN j.holding THEN 'careful'
              WHEN j.passed THEN 'passed'
              WHEN j.damaged IS NOT NULL THEN 'damaged'
              WHEN j.poisoned THEN 'poisoned'
              WHEN j.lock_limit = 0 OR g.key IS NOT NULL THEN 'running'
              WHEN EXISTS (SELECT FROM chosen AS h JOIN answered AS a ON a.n = h.n
                            WHERE h.likely AND (NOT a.certain OR j.lock_limit > 1)) THEN 'again'
              WHEN j.started_at IS NOT NULL OR j.on_conflict IN ('wait', 'replace')
              THEN CASE WHEN j.careful OR $4::boolean THEN 'parked' ELSE 'careful' END
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
  SELECT f.*,
         CASE WHEN f.recovered AND f.outcome NOT IN ('passed', 'damaged')
              THEN (SELECT n.trail FROM (SELECT f.trail, {us f.now} AS at_us, 'crashed' AS event, f.holder AS detail) AS e
-- include: note
                   )
              ELSE f.trail END AS told,
         'cannot run the job: its field ' || f.damaged
           || ' has a wrong type or an unknown value; repair it, then retry the job' AS why  -- core::end_damaged says the same
    FROM fate AS f
), written AS (
  UPDATE {jobs} AS j
     SET state = CASE f.outcome WHEN 'parked' THEN 'queued' WHEN 'dropped' THEN 'dropped' WHEN 'poisoned' THEN 'dead'
                                WHEN 'damaged' THEN 'dead'
                                ELSE 'running' END,
         crashes = f.crashes + CASE WHEN f.recovered AND f.outcome NOT IN ('passed', 'damaged') THEN 1 ELSE 0 END,
         trail = CASE WHEN f.outcome = 'parked' AND NOT f.parked
                      THEN (SELECT n.trail FROM (SELECT f.told AS trail, {us f.now} AS at_us, 'parked' AS event, '' AS detail) AS e
-- include: note
                           )
                      WHEN f.outcome = 'damaged'
                      THEN (SELECT n.trail FROM (SELECT f.told AS trail, {us f.now} AS at_us, 'failed' AS event, f.why AS detail) AS e
-- include: note
                           )
                      ELSE f.told END,
         attempt = f.attempt + CASE WHEN f.outcome IN ('running', 'raised') THEN 1 ELSE 0 END,
         started_at = CASE WHEN f.outcome IN ('running', 'raised') THEN f.now ELSE f.started_at END,
         finished_at = CASE WHEN f.outcome IN ('dropped', 'poisoned', 'damaged') THEN f.now END,
         holder = CASE WHEN f.outcome IN ('running', 'raised') THEN $5::text ELSE f.holder END,
         lock = CASE f.outcome WHEN 'running' THEN coalesce(f.lock_taken, '') WHEN 'passed' THEN f.lock ELSE '' END,
         token = CASE f.outcome WHEN 'running' THEN coalesce(f.token_taken, 0) WHEN 'passed' THEN f.token ELSE 0 END,
         claim_until = CASE WHEN f.outcome = 'passed' THEN f.now + interval '1s'
                            WHEN f.outcome IN ('running', 'raised')
                            THEN coalesce(f.now + $6::bigint::float8 * interval '1us', {last_day}) END,
         parked = f.outcome = 'parked',
         due_at = CASE WHEN f.outcome <> 'parked' THEN f.due_at
                       WHEN $4::boolean THEN f.now + interval '1s'  -- when the row is let go, its lease does not say
                       WHEN NOT f.first THEN f.now + interval '1min'
                       ELSE f.now + greatest(interval '10ms', least(coalesce(date_trunc('milliseconds', f.free_at - f.now),
                                                                             interval '1s'), interval '1s')) END,
         slot = CASE WHEN f.outcome = 'dropped' OR (f.outcome IN ('poisoned', 'damaged') AND f.uniqueness <> 'until_success')
                       OR (f.outcome IN ('running', 'raised') AND f.uniqueness = 'until_start') THEN NULL
                     ELSE f.slot END,
         error = CASE f.outcome WHEN 'dropped' THEN f.blocker
                                WHEN 'poisoned' THEN 'its worker died ' || (f.crashes + 1)::text || ' times'
                                WHEN 'damaged' THEN f.why
                                ELSE f.error END
    FROM noticed AS f
   WHERE j.id = f.id AND f.outcome NOT IN ('again', 'careful')
  RETURNING j.*
), freed AS MATERIALIZED (
  -- Behind one that has died its lock is free; behind one that waited and runs now, the next looks for it.
  SELECT f.key, f.id, f.outcome = 'running' AS scouts
    FROM fate AS f
   WHERE (f.outcome IN ('poisoned', 'damaged') AND f.lock <> '') OR (f.outcome IN ('running', 'damaged') AND f.parked)
),
-- include: woken

-- part: job_next
-- For how many milliseconds nothing is due.  What is due and was not picked somebody else has locked just now: it may come
-- back.  Where there are a thousand priorities it is asked again soon, as not all are looked at.
(SELECT CASE WHEN n.at <= c.now THEN 10
             ELSE coalesce(least(60000, ceil(date_part('epoch', n.at - c.now) * 1000::float8)::bigint), 60000) END
   FROM (SELECT least((SELECT CASE WHEN count(DISTINCT w.priority) < 1000 THEN min(h.due_at)
                                   ELSE least(min(h.due_at), c.now + interval '1s') END
                         FROM (SELECT w.priority FROM walk AS w WHERE w.priority IS NOT NULL LIMIT 1000) AS w
                        CROSS JOIN queues AS q
                        CROSS JOIN LATERAL (
-- include: job_heads
) AS h),
                      (SELECT min(e.claim_until)
                         FROM queues AS q
                        CROSS JOIN LATERAL (
                              SELECT j.claim_until FROM {jobs} AS j
                               WHERE j.state = 'running' AND j.queue = q.name
                               ORDER BY j.claim_until LIMIT 1) AS e)) AS at) AS n)

-- name: claim
-- Claims the next job and acquires its lock, in one step.
--
-- It is one statement, and then all of it is decided on the newest version of each row that matters, save two things:
-- whether a job that finds its lock held is the first that waits for it, and that a lock which its dead worker held is
-- given back and acquired at once (a row can be changed once in a statement).  Then nothing is changed but "careful" is
-- answered: hold_next locks the job and its leases, and claim_held, which has the same rule, is run behind it in one
-- transaction, with a newer snapshot.  Whoever frees a lock changes its row first and looks for those who wait for it in a
-- second statement (finish, then unpark): so one of the two sees the other, and no job sleeps beside a free lock.
--
-- Outcomes: nothing, running, dropped, raised, poisoned, parked, damaged, careful; again: somebody was faster, nothing changed;
-- passed: what its dead worker held cannot be given back, as somebody has its row locked: it stays that worker's for a
-- moment more, so that it is not forgotten whose the lease is.
--
-- $1 void after this moment, in microseconds  $2 wait for locked rows at most so many milliseconds  $3 client
-- $4 a lease whose row somebody has locked is not waited for but taken as held
-- $5 holder  $6 ttl of the claim in microseconds  $7 so many crashes are too many
-- $8 places of waiters that end later than so many microseconds from now do not count, NULL: all count
-- $9 queues
WITH RECURSIVE
-- include: rule_clock
queues AS MATERIALIZED (
  SELECT DISTINCT q.name FROM pg_catalog.unnest($9::text[]) AS q(name)
),
-- include: job_pick
job AS MATERIALIZED (
  SELECT p.*, false AS careful, p.state = 'running' AS recovered,
-- include: job_damage
         p.state = 'running' AND p.crashes + 1 >= $7::bigint AS poisoned,
         p.state = 'running' AND p.lock <> '' AS holding,
         false AS passed
    FROM picked AS p
),
-- include: claim_rule
SELECT coalesce(f.outcome, 'nothing') AS outcome, {now_us} AS now_us, f.recovered, {us f.lock_until} AS lock_until_us,
       f.blocker, CASE WHEN f.id IS NULL THEN
-- include: job_next
       END AS next_ms,
-- include: job_row
  FROM clock AS c
  LEFT JOIN fate AS f ON true
  LEFT JOIN written AS j ON true;

-- name: hold_next
-- The first half of what cannot be decided by one snapshot (see claim): locks the next job and all leases that it may run
-- under.  What follows in the same transaction sees them as they are and stay.
-- A claim that has run out gives back what its dead worker held.
-- $1 void after  $2 patience  $3 queues  $4 skip: as claim has them
WITH RECURSIVE
-- include: rule_clock
queues AS MATERIALIZED (
  SELECT DISTINCT q.name FROM pg_catalog.unnest($3::text[]) AS q(name)
),
-- include: job_pick
-- include: job_names
held AS MATERIALIZED (
  SELECT l.key
    FROM names AS n
    JOIN {locks} AS l ON l.key::text = n.lock
   WHERE NOT $4::boolean
   ORDER BY n.lock COLLATE "C"
     FOR NO KEY UPDATE OF l
),
-- include: job_untouched
returned AS NOT MATERIALIZED (
  SELECT p.lock AS key, p.holder, p.token
    FROM picked AS p
   WHERE p.state = 'running' AND p.lock <> '' AND (SELECT count(*) FROM held) IS NOT NULL
     AND (NOT $4::boolean OR p.lock IN (SELECT u.lock FROM untouched AS u))
), given_back AS (
-- include: release_rule
-- include: release_reply
)
SELECT set_config('holdfast.job', coalesce((SELECT p.id::text FROM picked AS p), ''), true),
       (SELECT count(*) FROM given_back), {now_us};

-- name: claim_held
-- As claim, for the job that hold_next has locked, in the same transaction.
-- $1 to $8: as claim has them
WITH
-- include: rule_clock
picked AS MATERIALIZED (
  SELECT j.* FROM {jobs} AS j WHERE j.id = nullif(current_setting('holdfast.job', true), '')::bigint
), job AS MATERIALIZED (
  SELECT p.*, true AS careful, p.state = 'running' AS recovered,
-- include: job_damage
         p.state = 'running' AND p.crashes + 1 >= $7::bigint AS poisoned,
         false AS holding,
         $4::boolean AND p.state = 'running'
         AND EXISTS (SELECT FROM {locks} AS l
                      WHERE l.key::text = p.lock AND l.locked_by::text = p.holder AND l.sequence = p.token
                        AND coalesce(l.locked_until >= {now}, true)) AS passed
    FROM picked AS p
),
-- include: claim_rule
SELECT coalesce(f.outcome, 'nothing') AS outcome, {now_us} AS now_us, f.recovered, {us f.lock_until} AS lock_until_us,
       f.blocker, NULL::bigint AS next_ms,
-- include: job_row
  FROM clock AS c
  LEFT JOIN fate AS f ON true
  LEFT JOIN written AS j ON true;

-- name: spoil
-- A job that cannot be started, whoever tries, is set aside as dead, so that its queue goes on.
-- $1 id  $2 error  $3 wait for a locked row at most so many milliseconds
WITH clock AS MATERIALIZED (SELECT {now} AS now)
UPDATE {jobs} AS j
   SET state = 'dead', finished_at = c.now, parked = false, error = $2::text,
       slot = CASE WHEN j.uniqueness = 'until_success' THEN j.slot END,
       trail = (SELECT n.trail FROM (SELECT j.trail, {us c.now} AS at_us, 'failed' AS event, $2::text AS detail) AS e
-- include: note
               )
  FROM clock AS c
 WHERE j.id = $1::bigint AND j.state = 'queued'
   AND (SELECT set_config('lock_timeout', greatest(1, $3::bigint)::text, true)) IS NOT NULL
   AND (SELECT {durable}) IS NOT NULL
RETURNING j.id;

-- name: renew_claims
-- Many claims are renewed; none is shortened.  Answers those that are still their holders', and of each whether somebody
-- has its job locked: that one is not waited for, and not renewed.
-- $1 ids  $2 holders  $3 ttls in microseconds  $4 wait for the table at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {durable} AS durable,
         set_config('lock_timeout', greatest(1, $4::bigint)::text, true) AS lock_timeout
), asked AS MATERIALIZED (
  SELECT a.n, a.id, a.holder, a.ttl
    FROM clock AS c
   CROSS JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS a(id, holder, ttl, n)
   WHERE c.lock_timeout IS NOT NULL
), theirs AS MATERIALIZED (
  SELECT a.n
    FROM asked AS a
    JOIN {jobs} AS j ON j.id = a.id
   WHERE j.state = 'running' AND j.holder = a.holder
), held AS MATERIALIZED (
  SELECT a.n, a.ttl, j.id, j.claim_until
    FROM asked AS a
    JOIN {jobs} AS j ON j.id = a.id
   WHERE j.state = 'running' AND j.holder = a.holder
   ORDER BY j.id
     FOR UPDATE OF j SKIP LOCKED
), renewed AS (
  UPDATE {jobs} AS j
     SET claim_until = greatest(h.claim_until, {now} + h.ttl::float8 * interval '1us')
    FROM held AS h
   WHERE j.id = h.id
)
SELECT t.n, h.n IS NULL AS locked
  FROM theirs AS t
  LEFT JOIN held AS h ON h.n = t.n;

-- name: renew_locked_claim
-- The same for one claim whose job somebody had locked just now: this waits for the job in its turn, after those that have
-- it locked or wait for it already.
-- $1 id  $2 holder  $3 ttl in microseconds  $4 wait for the job at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {durable} AS durable,
         set_config('lock_timeout', greatest(1, $4::bigint)::text, true) AS lock_timeout
), held AS MATERIALIZED (
  SELECT j.id, j.claim_until
    FROM clock AS c
   CROSS JOIN LATERAL (  -- it asks the clock, so that it is known how long the row is waited for
         SELECT j.id, j.claim_until FROM {jobs} AS j
          WHERE j.id = $1::bigint AND j.state = 'running' AND j.holder = $2::text AND c.lock_timeout IS NOT NULL
            FOR UPDATE) AS j
), renewed AS (
  UPDATE {jobs} AS j
     SET claim_until = greatest(h.claim_until, {now} + $3::bigint::float8 * interval '1us')
    FROM held AS h
   WHERE j.id = h.id
)
SELECT count(*) FROM held;

-- name: finish
-- Ends a claim, if it is the holder's, and gives back its lock; each on its own.  Those who wait for the lock are
-- looked for by the statement behind it, unpark, with a newer snapshot: claim says why.
-- $1 id  $2 holder  $3 state  $4 queued: in so many microseconds  $5 the attempt counts  $6 error
-- $7 lock, empty: none  $8 token  $9 wait for locked rows at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {now} AS now, {durable} AS durable,
         set_config('lock_timeout', greatest(1, $9::bigint)::text, true) AS lock_timeout
), mine AS MATERIALIZED (
  SELECT j.*, c.now
    FROM clock AS c
   CROSS JOIN LATERAL (  -- it asks the clock, so that it is known how long the row is waited for
         SELECT j.* FROM {jobs} AS j WHERE j.id = $1::bigint AND c.lock_timeout IS NOT NULL FOR UPDATE) AS j
), ended AS (
  UPDATE {jobs} AS j
     SET state = $3::text,
         finished_at = CASE WHEN $3::text <> 'queued' THEN m.now END,
         parked = false,
         claim_until = NULL,
         lock = '',
         token = 0,
         slot = CASE WHEN $3::text = 'queued' OR ($3::text = 'dead' AND m.uniqueness = 'until_success') THEN m.slot END,
         error = $6::text,
         attempt = m.attempt - CASE WHEN $3::text = 'dropped' OR ($3::text = 'queued' AND NOT $5::boolean) THEN 1 ELSE 0 END,
         trail = CASE WHEN $3::text IN ('done', 'dropped') THEN m.trail
                      ELSE (SELECT n.trail
                              FROM (SELECT m.trail, {us m.now} AS at_us,
                                           CASE WHEN $3::text = 'queued' AND NOT $5::boolean THEN 'handed-back'
                                                WHEN $3::text = 'cancelled' THEN 'cancelled'
                                                ELSE 'failed' END AS event,
                                           $6::text AS detail) AS e
-- include: note
                           ) END,
         due_at = CASE WHEN $3::text = 'queued' THEN m.now + $4::bigint::float8 * interval '1us' ELSE m.due_at END,
         run_at = CASE WHEN $3::text = 'queued' AND $5::boolean THEN m.now + $4::bigint::float8 * interval '1us'
                       ELSE m.run_at END
    FROM mine AS m
   WHERE j.id = m.id AND m.state = 'running' AND m.holder = $2::text
  RETURNING j.id
), returned AS NOT MATERIALIZED (
  SELECT $7::text AS key, $2::text AS holder, $8::bigint AS token
), released AS (
-- include: release_rule
   AND $7::text <> '' AND (SELECT count(*) FROM mine) IS NOT NULL
-- include: release_reply
)
SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM released), {now_us},
       set_config('holdfast.key', coalesce((SELECT m.key FROM mine AS m), ''), true);

-- name: unpark
-- A job has freed its lock, in the statement before (finish): the first that waits for it is due, and who waits for the
-- lease is rung.  That statement may have rung nobody, where a place was taken since its snapshot; this one sees it.
-- $1 lock
WITH freed AS MATERIALIZED (
  SELECT nullif(current_setting('holdfast.key', true), '') AS key, 0::bigint AS id, false AS scouts
),
-- include: woken
SELECT pg_notify('holdfast_' || f.client, $1::text) IS NULL AS rung
  FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = $1::text AND w.until > {now}
         ORDER BY w.ticket LIMIT 1) AS f;

-- name: hold_one
-- The first half of a change by hand: locks the job.  Nothing is given back: whoever works under its lock still does.
-- $1 void after  $2 patience  $3 id
WITH
-- include: rule_clock
picked AS MATERIALIZED (
  SELECT j.* FROM {jobs} AS j WHERE j.id = $3::bigint AND (SELECT c.in_time FROM clock AS c) FOR UPDATE
)
SELECT set_config('holdfast.job', coalesce((SELECT p.id::text FROM picked AS p), ''), true);

-- name: change
-- What an operator does to the job that hold_one has locked, in the same transaction; see claim for why there are two.
-- Answers the job as it was and, if that was done, as it is.
-- $1 cancel, retry or remove  $2 by whom
WITH mine AS MATERIALIZED (
  SELECT j.*, {now} AS now, r.id AS rival,
         CASE $1::text WHEN 'cancel' THEN j.state IN ('queued', 'running', 'dead')
                       WHEN 'retry' THEN j.state NOT IN ('queued', 'running') AND r.id IS NULL
                       ELSE j.state <> 'running' END AS fits
    FROM {jobs} AS j
    LEFT JOIN {jobs} AS r
      ON r.slot = 'loner:' || j.key AND r.id <> j.id AND $1::text = 'retry' AND j.uniqueness <> 'no'
   WHERE j.id = nullif(current_setting('holdfast.job', true), '')::bigint
), gone AS (
  DELETE FROM {jobs} AS j USING mine AS m WHERE j.id = m.id AND m.fits AND $1::text = 'remove' RETURNING j.*
), changed AS (
  UPDATE {jobs} AS j
     SET state = CASE $1::text WHEN 'cancel' THEN 'cancelled' ELSE 'queued' END,
         finished_at = CASE $1::text WHEN 'cancel' THEN m.now END,
         parked = false,
         claim_until = NULL,
         slot = CASE WHEN $1::text = 'retry' AND m.uniqueness <> 'no' THEN 'loner:' || m.key END,
         attempt = CASE $1::text WHEN 'retry' THEN 0 ELSE m.attempt END,
         crashes = CASE $1::text WHEN 'retry' THEN 0 ELSE m.crashes END,
         run_at = CASE $1::text WHEN 'retry' THEN m.now ELSE m.run_at END,
         due_at = CASE $1::text WHEN 'retry' THEN m.now ELSE m.due_at END,
         error = CASE $1::text WHEN 'retry' THEN '' ELSE m.error END,
         trail = (SELECT n.trail FROM (SELECT m.trail, {us m.now} AS at_us,
                                              CASE $1::text WHEN 'cancel' THEN 'cancelled' ELSE 'retried' END AS event,
                                              $2::text AS detail) AS e
-- include: note
                 )
    FROM mine AS m
   WHERE j.id = m.id AND m.fits AND $1::text <> 'remove'
  RETURNING j.*
), freed AS MATERIALIZED (  -- who would free the lock may never come; the next one looks for itself
  SELECT m.key, m.id, false AS scouts FROM mine AS m WHERE (m.parked OR m.state = 'running') AND m.fits
),
-- include: woken
SELECT m.fits, m.rival, m.state AS was,
-- include: job_row
  FROM mine AS m
  JOIN (SELECT * FROM gone UNION ALL SELECT * FROM changed
        UNION ALL SELECT j.* FROM mine AS n JOIN {jobs} AS j ON j.id = n.id WHERE NOT n.fits) AS j ON true;

-- part: list_rest
   AND ($3::text IS NULL OR j.name = $3::text) AND ($4::text IS NULL OR j.queue = $4::text)
   AND ($5::text IS NULL OR j.state = $5::text) AND ($6::bigint IS NULL OR j.id < $6::bigint)
 ORDER BY j.id DESC
 LIMIT $7::bigint;

-- name: list
-- Jobs for people, the newest first.  Where an id or a key is asked for: list_id, list_key, so that its index is taken.
-- $1 id  $2 key  $3 name  $4 queue  $5 state  $6 older than this one  $7 so many; NULL: any
SELECT
-- include: job_row
  FROM {jobs} AS j
 WHERE $1::bigint IS NULL AND $2::text IS NULL
-- include: list_rest

-- name: list_id
SELECT
-- include: job_row
  FROM {jobs} AS j
 WHERE j.id = $1::bigint AND ($2::text IS NULL OR j.key = $2::text)
-- include: list_rest

-- name: list_key
SELECT
-- include: job_row
  FROM {jobs} AS j
 WHERE $1::bigint IS NULL AND j.key = $2::text
-- include: list_rest

-- name: take_tick
-- Takes a tick, if it is later than the last.  No row: it is not; ask which that was (last_tick).
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

-- name: last_tick
-- The last tick of a name.
-- $1 name  $2 period in microseconds, NULL: none
SELECT t.tick, t.by, {us t.at}, {us t.success}, c.us, c.us - c.us % $2::bigint AS wanted
  FROM (SELECT {now_us} AS us OFFSET 0) AS c
  LEFT JOIN {ticks} AS t ON t.name = $1::text;

-- name: note_success
-- Notes a success of a name.
-- $1 name  $2 by whom  $3 wait for a locked row at most so many milliseconds
INSERT INTO {ticks} AS t (name, tick, by, success)
SELECT $1::text, -1, $2::text, {now}
 WHERE set_config('lock_timeout', greatest(1, $3::bigint)::text, true) IS NOT NULL
   AND {durable} IS NOT NULL
ON CONFLICT (name) DO UPDATE SET success = excluded.success, by = excluded.by;

-- name: purge_jobs
-- Takes away jobs that have been over for so long, and ticks that nobody asks for any more; what somebody has locked
-- just now stays.
-- $1 microseconds  $2 so many jobs
WITH clock AS MATERIALIZED (
  SELECT {now} AS now
), over AS MATERIALIZED (
  SELECT o.id
    FROM clock AS c
   CROSS JOIN LATERAL (
         SELECT j.id FROM {jobs} AS j
          WHERE j.state IN ('done', 'dropped', 'cancelled')
            AND j.finished_at <= c.now - $1::bigint::float8 * interval '1us'
          ORDER BY j.finished_at LIMIT $2::bigint
            FOR UPDATE SKIP LOCKED) AS o
), gone AS (
  DELETE FROM {jobs} AS j USING over AS o WHERE j.id = o.id RETURNING 1
), past AS MATERIALIZED (
  SELECT t.name FROM {ticks} AS t WHERE t.until <= {now} LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), forgotten AS (
  DELETE FROM {ticks} AS t USING past AS p WHERE t.name = p.name
)
SELECT count(*) FROM gone;
