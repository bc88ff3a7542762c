-- SPDX-License-Identifier: Apache-2.0
-- A job has freed its lock, in the statement before: the first that waits for it is due, and who waits for the lease is
-- rung.  That statement may have rung nobody, where a place was taken since its snapshot; this one sees it.
-- $1 lock
WITH woken AS (
  {unpark}
)
SELECT pg_notify('holdfast_' || f.client, $1::text) IS NULL AS rung
  FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = $1::text AND w.until > {now}
         ORDER BY w.ticket LIMIT 1) AS f;
