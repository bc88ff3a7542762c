-- SPDX-License-Identifier: Apache-2.0
-- Ends a claim, if it is the holder's, and gives back its lock; each on its own.  Those who wait for the lock are
-- looked for by the statement behind it, job_unpark.sql, with a newer snapshot: job_claim.sql says why.
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
                      ELSE {note m.trail | m.now | CASE WHEN $3::text = 'queued' AND NOT $5::boolean THEN 'handed-back' WHEN $3::text = 'cancelled' THEN 'cancelled' ELSE 'failed' END | $6::text} END,
         due_at = CASE WHEN $3::text = 'queued' THEN m.now + $4::bigint::float8 * interval '1us' ELSE m.due_at END,
         run_at = CASE WHEN $3::text = 'queued' AND $5::boolean THEN m.now + $4::bigint::float8 * interval '1us'
                       ELSE m.run_at END
    FROM mine AS m
   WHERE j.id = m.id AND m.state = 'running' AND m.holder = $2::text
  RETURNING j.id
), released AS (
  {release}
)
SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM released), {now_us},
       set_config('holdfast.key', coalesce((SELECT m.key FROM mine AS m), ''), true);
