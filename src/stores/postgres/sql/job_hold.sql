-- SPDX-License-Identifier: Apache-2.0
-- The first half of what cannot be decided by one snapshot (see job_claim.sql): locks a job and all leases that it may
-- run under.  What follows in the same transaction sees them as they are and stay.
-- A claim that has run out gives back what its dead worker held.
-- {queues} {void_after} {patience} {skip}: as job_claim.sql has them
WITH RECURSIVE {clock}, {pick}, names AS MATERIALIZED (
  {names}
), held AS MATERIALIZED (
  SELECT l.key
    FROM names AS n
    JOIN {locks} AS l ON l.key::text = n.lock
   WHERE NOT {skip}
   ORDER BY n.lock COLLATE "C"
     FOR NO KEY UPDATE OF l
), untouched AS MATERIALIZED (
  {untouched}
), given_back AS (
  {release}
)
SELECT set_config('holdfast.job', coalesce((SELECT p.id::text FROM picked AS p), ''), true),
       (SELECT count(*) FROM given_back), {now_us};
