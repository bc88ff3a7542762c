-- SPDX-License-Identifier: Apache-2.0
-- A part of apply.sql and of job_claim.sql, the rule of leases: what the snapshot says of each of `asked`.
-- {client} whose places in queues are ours
wanted AS MATERIALIZED (
  SELECT w.*, w.ttl_us::float8 * interval '1us' AS ttl, c.now, c.in_time,
         l.key IS NOT NULL AS known, l.locked_by::text AS locked_by, l.locked_until, l.sequence, l.xmin AS version,
         l.locked_by IS NOT NULL AND coalesce(l.locked_until >= c.now, true) AS live,
         q.places, q.clients, q.first_until
    FROM clock AS c
   CROSS JOIN asked AS w
    LEFT JOIN {locks} AS l ON l.key::text = w.key
   CROSS JOIN LATERAL (
         SELECT count(*) AS places,
                pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.until > c.now) AS clients,
                (pg_catalog.array_agg(p.until ORDER BY p.ticket) FILTER (WHERE p.until > c.now))[1] AS first_until
           FROM {waiters} AS p
          WHERE p.key = w.key AND w.verb <> 'n') AS q
), judged AS MATERIALIZED (  -- by the snapshot
  SELECT w.*,
         CASE w.verb
           WHEN 'a' THEN w.in_time
                         AND CASE WHEN w.live THEN w.locked_by = w.holder
                                  ELSE w.clients IS NULL OR w.clients[1] = {client} END
           WHEN 'e' THEN w.live AND w.sequence = w.token
           ELSE w.live AND w.locked_by = w.holder AND (w.token = 0 OR w.token = w.sequence)
         END AS fits
    FROM wanted AS w
)
