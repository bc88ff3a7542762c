-- SPDX-License-Identifier: Apache-2.0
-- Takes away keys of a part of the table that have been free so long, and remembers the largest of their tokens in
-- the same step.  A key that somebody has locked just now stays, and so does one whose token is ahead of the clock:
-- all new keys would have to start behind it.  So do rows that nobody has ever locked: a Ruby process makes them a
-- moment before it locks them.
-- $1 behind this key  $2 free for so many microseconds, NULL: none  $3 so many rows are looked at
WITH part AS MATERIALIZED (
  SELECT l.key::text AS key FROM {locks} AS l WHERE l.key::text > $1::text ORDER BY l.key::text LIMIT $3::bigint
), free AS MATERIALIZED (
  SELECT l.key::text AS key
    FROM part AS p
    JOIN {locks} AS l ON l.key::text = p.key
   WHERE l.locked_until < {now} - $2::bigint::float8 * interval '1us'
     AND coalesce(l.sequence, 0) < {now_us}
     AND NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = p.key AND w.until > {now})
     FOR UPDATE OF l SKIP LOCKED
), gone AS (
  DELETE FROM {locks} AS l USING free AS f WHERE l.key::text = f.key RETURNING f.key, l.sequence
), noted AS (
  UPDATE {state} AS s
     SET purged_token = greatest(s.purged_token, (SELECT max(g.sequence) FROM gone AS g))
   WHERE EXISTS (SELECT FROM gone)
), facts AS (
  DELETE FROM {facts} AS f USING gone AS g WHERE f.key = g.key
)
SELECT (SELECT count(*) FROM part), (SELECT max(key) FROM part), (SELECT count(*) FROM gone),
       {durable};
