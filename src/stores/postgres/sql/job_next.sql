-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql: for how many milliseconds nothing is due.  What is due and was not picked somebody else has
-- locked just now: it may come back.
(SELECT CASE WHEN n.at <= c.now THEN 10
             ELSE coalesce(least(60000, ceil(date_part('epoch', n.at - c.now) * 1000::float8)::bigint), 60000) END
   FROM (SELECT least((SELECT min(h.due_at) FROM heads AS h),
                      (SELECT min(e.claim_until)
                         FROM queues AS q
                        CROSS JOIN LATERAL (
                              SELECT j.claim_until FROM {jobs} AS j
                               WHERE j.state = 'running' AND j.queue = q.name
                               ORDER BY j.claim_until LIMIT 1) AS e)) AS at) AS n)
