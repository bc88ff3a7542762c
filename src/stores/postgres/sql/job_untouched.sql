-- SPDX-License-Identifier: Apache-2.0
-- A part of job_claim.sql and of job_hold.sql: the leases whose rows nobody else has locked, where that is asked.
SELECT n.lock
    FROM names AS n
    JOIN {locks} AS l ON l.key::text = n.lock
   WHERE {skip}
     FOR NO KEY UPDATE OF l SKIP LOCKED
