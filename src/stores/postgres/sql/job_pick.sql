-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql and of job_hold.sql: the job that is claimed next, locked; what others have locked is passed
-- over.  A claim that has run out comes first.  Else, of each queue and each of its priorities, the first job: a few
-- steps down an index each, however many jobs wait behind it, for their time or for their lock.
-- {queues} any of them
queues AS MATERIALIZED (
  SELECT DISTINCT q.name FROM pg_catalog.unnest({queues}) AS q(name)
), lapsed AS MATERIALIZED (
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
), due_lanes AS (
  SELECT q.name AS queue,
         (SELECT j.priority FROM {jobs} AS j
           WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = q.name
           ORDER BY j.priority LIMIT 1) AS priority
    FROM queues AS q
   UNION ALL
  SELECT l.queue,
         (SELECT j.priority FROM {jobs} AS j
           WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = l.queue AND j.priority > l.priority
           ORDER BY j.priority LIMIT 1)
    FROM due_lanes AS l
   WHERE l.priority IS NOT NULL
), later_lanes AS (
  SELECT q.name AS queue,
         (SELECT j.priority FROM {jobs} AS j
           WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = q.name
           ORDER BY j.priority LIMIT 1) AS priority
    FROM queues AS q
   UNION ALL
  SELECT l.queue,
         (SELECT j.priority FROM {jobs} AS j
           WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = l.queue AND j.priority > l.priority
           ORDER BY j.priority LIMIT 1)
    FROM later_lanes AS l
   WHERE l.priority IS NOT NULL
), heads AS MATERIALIZED (  -- of each lane its first, due or not
  SELECT true AS straight, l.queue, l.priority, h.run_at, h.id, h.run_at AS due_at
    FROM due_lanes AS l
   CROSS JOIN LATERAL (
         SELECT j.run_at, j.id FROM {jobs} AS j
          WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = l.queue AND j.priority = l.priority
          ORDER BY j.run_at, j.id LIMIT 1) AS h
   UNION ALL
  SELECT false, l.queue, l.priority, h.run_at, h.id, h.due_at
    FROM later_lanes AS l
   CROSS JOIN LATERAL (
         SELECT j.run_at, j.id, j.due_at FROM {jobs} AS j
          WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = l.queue AND j.priority = l.priority
          ORDER BY j.due_at, j.id LIMIT 1) AS h
), ready AS MATERIALIZED (
  SELECT h.straight, h.queue, h.priority, c.now
    FROM heads AS h
   CROSS JOIN clock AS c
   WHERE h.due_at <= c.now AND c.in_time AND NOT EXISTS (SELECT FROM lapsed)
   ORDER BY h.priority, h.run_at, h.id
), first_due AS MATERIALIZED (  -- lanes in order, and no lane is touched behind the first that has a job for us
  SELECT f.*
    FROM ready AS r
   CROSS JOIN LATERAL (
         SELECT a.* FROM (
                SELECT j.* FROM {jobs} AS j
                 WHERE r.straight AND j.state = 'queued' AND j.due_at = j.run_at
                   AND j.queue = r.queue AND j.priority = r.priority AND j.run_at <= r.now
                 ORDER BY j.run_at, j.id LIMIT 1
                   FOR UPDATE SKIP LOCKED) AS a
          UNION ALL
         SELECT b.* FROM (
                SELECT j.* FROM {jobs} AS j
                 WHERE NOT r.straight AND j.state = 'queued' AND j.due_at <> j.run_at
                   AND j.queue = r.queue AND j.priority = r.priority AND j.due_at <= r.now
                 ORDER BY j.due_at, j.id LIMIT 1
                   FOR UPDATE SKIP LOCKED) AS b) AS f
   LIMIT 1
), picked AS MATERIALIZED (
  SELECT * FROM lapsed UNION ALL SELECT * FROM first_due
)
