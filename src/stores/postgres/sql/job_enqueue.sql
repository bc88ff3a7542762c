-- SPDX-License-Identifier: Apache-2.0
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
         args = CASE WHEN {replaces} THEN excluded.args ELSE j.args END,
         priority = CASE WHEN {replaces} THEN excluded.priority ELSE j.priority END,
         run_at = CASE WHEN {replaces} THEN excluded.run_at ELSE j.run_at END,
         -- One that waits for its lock goes on doing so, unless its time has not come: then others are before it.
         due_at = CASE WHEN {replaces} AND (NOT j.parked OR {put_off}) THEN excluded.run_at ELSE j.due_at END,
         parked = j.parked AND NOT ({replaces} AND {put_off}),
         attempt = CASE WHEN {replaces} THEN 0 ELSE j.attempt END,
         crashes = CASE WHEN {replaces} THEN 0 ELSE j.crashes END,
         max_attempts = CASE WHEN {replaces} THEN excluded.max_attempts ELSE j.max_attempts END,
         error = CASE WHEN {replaces} THEN '' ELSE j.error END,
         trail = CASE WHEN {replaces} THEN {note j.trail | excluded.enqueued_at | 'replaced' | ''} ELSE j.trail END
  RETURNING j.id, j.state, j.enqueued_at, j.duplicates = 0 AS is_new, j.duplicates > 0 AND {replaces} AS replaced, j.run_at
), ticked AS (
  UPDATE {ticks} AS t
     SET tick = r.tick, job = e.id, at = r.now, by = '', until = r.tick_until
    FROM enqueued AS e, turn AS r
   WHERE e.is_new AND t.name = $14::text
), woken AS (  -- whether or not the one that was put off was parked: the next only looks
  {unpark}
)
SELECT CASE WHEN e.is_new THEN 'e' WHEN e.replaced THEN 'r' WHEN e.id IS NOT NULL OR h.id IS NOT NULL THEN 'd'
            WHEN r.turn = 'unknown' THEN 't' WHEN r.turn = 'had' THEN 'p' ELSE 'l' END AS verdict,
       coalesce(e.id, h.id, t.job) AS id, coalesce(e.state, h.state, 'done') AS state,
       {us coalesce(e.enqueued_at, h.enqueued_at, t.at)} AS since_us, r.holder, r.now_us
  FROM turn AS r
  LEFT JOIN enqueued AS e ON true
  LEFT JOIN had AS h ON true
  LEFT JOIN last AS t ON true;
