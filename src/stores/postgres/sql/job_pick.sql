-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql and of job_hold.sql: the job that is claimed next, locked; what others have locked is passed
-- over.  A claim that has run out comes first.  Else, priority by priority, of each queue the first job: a few steps down
-- an index each, however many jobs wait behind it, for their time or for their lock.  It ends with the first that is due.
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
                  CROSS JOIN LATERAL ({heads}) AS h
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
)
