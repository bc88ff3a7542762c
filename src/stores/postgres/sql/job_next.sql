-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql: for how many milliseconds nothing is due.  What is due and was not picked somebody else has
-- locked just now: it may come back.  Where there are a thousand priorities it is asked again soon, as not all are looked
-- at.
(SELECT CASE WHEN n.at <= c.now THEN 10
             ELSE coalesce(least(60000, ceil(date_part('epoch', n.at - c.now) * 1000::float8)::bigint), 60000) END
   FROM (SELECT least((SELECT CASE WHEN count(DISTINCT w.priority) < 1000 THEN min(h.due_at)
                                   ELSE least(min(h.due_at), c.now + {scout_pause}) END
                         FROM (SELECT w.priority FROM walk AS w WHERE w.priority IS NOT NULL LIMIT 1000) AS w
                        CROSS JOIN queues AS q
                        CROSS JOIN LATERAL ({heads}) AS h),
                      (SELECT min(e.claim_until)
                         FROM queues AS q
                        CROSS JOIN LATERAL (
                              SELECT j.claim_until FROM {jobs} AS j
                               WHERE j.state = 'running' AND j.queue = q.name
                               ORDER BY j.claim_until LIMIT 1) AS e)) AS at) AS n)
