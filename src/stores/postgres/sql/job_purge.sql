-- SPDX-License-Identifier: Apache-2.0
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
