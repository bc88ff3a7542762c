-- SPDX-License-Identifier: Apache-2.0
-- Any mixture of requests, one for each key, in one step.
--
-- What the snapshot says is busy or lost needs no row lock, no write and no fsync.  The rest is locked in the
-- order given, which is the bytewise order of keys for everybody, and decided on the newest version of each row.
-- New rows are made first: nobody waits for them but others who make them, so no circle of waiting can close.
--
-- $1 verbs: a acquire, n renew, r release, e evict  $2 keys  $3 holders  $4 tokens, 0: any
-- $5 ttls in microseconds, NULL: without end  $6 places in microseconds, 0: none
-- $7 1: add the ttl to what is left, 2: detached  $8 notes, or reasons
-- $9 client  $10 acquires are void after this moment, in microseconds
-- $11 wait for locked rows at most so many milliseconds
-- $12 places of others that end later than so many microseconds from now do not count, NULL: all count
WITH asked AS (
  SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],
                $12::bigint[])
         WITH ORDINALITY AS w(verb, key, holder, token, ttl_us, place_us, flags, note, longest_place_us, n)
), {clock}, {judge}, chosen AS NOT MATERIALIZED (
  SELECT j.*, j.fits AS likely FROM judged AS j
), {settle}
SELECT a.n,
       CASE WHEN a.outcome IN ('grant', 'renew') THEN 'g'
            WHEN a.outcome IN ('release', 'evict') THEN 'r'
            WHEN NOT a.certain THEN '?'
            WHEN a.verb <> 'a' THEN 'l'
            WHEN NOT a.in_time THEN 'v'
            ELSE 'b' END AS verdict,
       a.sequence AS token, a.locked_by AS holder, {us a.locked_until} AS until_us, {now_us} AS now_us,
       coalesce(pg_catalog.array_position(a.clients, $9::text) - 1, pg_catalog.cardinality(a.clients), 0) AS ahead,
       {us a.first_until} AS first_until_us,
       CASE WHEN q.next IS NOT NULL THEN pg_notify('holdfast_' || q.next, a.key) IS NULL END AS rung
  FROM answered AS a
  LEFT JOIN queue AS q ON q.n = a.n
 ORDER BY a.n;
