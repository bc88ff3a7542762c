-- SPDX-License-Identifier: Apache-2.0
-- A part of apply.sql and of job_claim.sql, the rule of leases: what the snapshot says of each of `asked`.
-- {client} whose places in queues are ours.  What `asked` says of longest_place_us: spi/store.h, Request::longest_place
wanted AS MATERIALIZED (
  SELECT w.*, w.ttl_us::float8 * interval '1us' AS ttl, c.now, c.in_time,
         l.key IS NOT NULL AS known, l.locked_by::text AS locked_by, l.locked_until, l.sequence, l.xmin AS version,
         l.locked_by IS NOT NULL AND coalesce(l.locked_until >= c.now, true) AS live,
         q.places, q.clients, q.first_client, q.first_until
    FROM clock AS c
   CROSS JOIN asked AS w
    LEFT JOIN {locks} AS l ON l.key::text = w.key
   CROSS JOIN LATERAL (
         SELECT count(*) AS places,
                pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.until > c.now) AS clients,
                (pg_catalog.array_agg(p.client ORDER BY p.ticket) FILTER (WHERE p.counts))[1] AS first_client,
                (pg_catalog.array_agg(p.until ORDER BY p.ticket) FILTER (WHERE p.counts))[1] AS first_until
           FROM (SELECT s.client, s.until, s.ticket,
                        s.until > c.now
                        AND (s.client = {client}
                             OR coalesce(s.until <= c.now + w.longest_place_us::float8 * interval '1us', true)) AS counts
                   FROM {waiters} AS s
                  WHERE s.key = w.key AND w.verb <> 'n') AS p) AS q
), judged AS MATERIALIZED (  -- by the snapshot
  SELECT w.*,
         CASE w.verb
           WHEN 'a' THEN w.in_time
                         AND CASE WHEN w.live THEN w.locked_by = w.holder
                                  ELSE coalesce(w.first_client = {client}, true) END
           WHEN 'e' THEN w.live AND w.sequence = w.token
           ELSE w.live AND w.locked_by = w.holder AND (w.token = 0 OR w.token = w.sequence)
         END AS fits
    FROM wanted AS w
)
