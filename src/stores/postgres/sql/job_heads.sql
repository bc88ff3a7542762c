-- SPDX-License-Identifier: Apache-2.0
-- A part of job_pick.sql and of job_next.sql: of the queue q and the priority w the first of either kind, due or not.
SELECT a.* FROM (
       SELECT true AS straight, j.run_at, j.id, j.run_at AS due_at FROM {jobs} AS j
        WHERE j.state = 'queued' AND j.due_at = j.run_at AND j.queue = q.name AND j.priority = w.priority
        ORDER BY j.run_at, j.id LIMIT 1) AS a
 UNION ALL
SELECT b.* FROM (
       SELECT false, j.run_at, j.id, j.due_at FROM {jobs} AS j
        WHERE j.state = 'queued' AND j.due_at <> j.run_at AND j.queue = q.name AND j.priority = w.priority
        ORDER BY j.due_at, j.id LIMIT 1) AS b
