-- SPDX-License-Identifier: Apache-2.0
-- As leases.sql, without keys that were given back and that nobody waits for.  The table is read once for a page, unless
-- its index has the keys in this order (listing.cpp); an index of the keys that are held would make each acquire and each
-- release dearer.
-- $1 prefix  $2 behind this key  $3 so many
WITH held AS MATERIALIZED (
  SELECT l.key::text AS key
    FROM {locks} AS l
   WHERE l.locked_by IS NOT NULL
     AND starts_with(l.key::text, $1::text)
     AND l.key::text COLLATE "C" >= $1::text
     AND l.key::text COLLATE "C" > $2::text
   ORDER BY l.key::text COLLATE "C"
   LIMIT $3::bigint
), wanted AS MATERIALIZED (
  SELECT h.key FROM held AS h
   UNION
  SELECT w.key
    FROM {waiters} AS w
   WHERE w.until > {now} AND starts_with(w.key, $1::text) AND w.key COLLATE "C" > $2::text
)
SELECT l.key::text, l.locked_by::text, l.sequence, {us l.locked_until},
       {us l.locked_at}, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = l.key::text AND w.until > {now}), {now_us}
  FROM wanted AS k
 CROSS JOIN LATERAL (SELECT r.key, r.locked_by, r.sequence, r.locked_until, r.locked_at
                       FROM {locks} AS r WHERE r.key::text = k.key LIMIT 1::bigint) AS l
  LEFT JOIN LATERAL (SELECT n.note, n.detached
                       FROM {facts} AS n WHERE n.key = k.key AND n.token = l.sequence LIMIT 1::bigint) AS f ON true
 ORDER BY l.key::text COLLATE "C"
 LIMIT $3::bigint;
