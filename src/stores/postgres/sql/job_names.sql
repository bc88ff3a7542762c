-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql and of job_hold.sql: the leases that `picked` may run under, the first that is free.  The
-- planner takes an array to be short, and a series to be long: too long to do without compiling the plan (jit).
SELECT n.n, CASE WHEN p.lock_limit = 1 THEN p.key ELSE p.key || '#' || n.n::text END AS lock
    FROM picked AS p
   CROSS JOIN LATERAL pg_catalog.unnest(ARRAY(SELECT pg_catalog.generate_series(1::bigint, p.lock_limit))) AS n(n)
