-- SPDX-License-Identifier: Apache-2.0
-- Many claims are renewed; none is shortened.  Answers those that are still their holders'.
-- $1 ids  $2 holders  $3 ttl in microseconds  $4 wait for locked rows at most so many milliseconds
WITH clock AS MATERIALIZED (
  SELECT {durable} AS durable,
         set_config('lock_timeout', greatest(1, $4::bigint)::text, true) AS lock_timeout
), held AS MATERIALIZED (
  SELECT a.n, j.id, j.claim_until
    FROM clock AS c
   CROSS JOIN unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS a(id, holder, n)
    JOIN {jobs} AS j ON j.id = a.id
   WHERE j.state = 'running' AND j.holder = a.holder AND c.lock_timeout IS NOT NULL
   ORDER BY j.id
     FOR UPDATE OF j
), renewed AS (
  UPDATE {jobs} AS j
     SET claim_until = greatest(h.claim_until, {now} + $3::bigint::float8 * interval '1us')
    FROM held AS h
   WHERE j.id = h.id
)
SELECT h.n FROM held AS h;
