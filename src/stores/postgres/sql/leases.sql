-- SPDX-License-Identifier: Apache-2.0
-- Keys for people, in bytewise order.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 behind this key  $4 so many
SELECT l.key::text, l.locked_by::text, l.sequence, {us l.locked_until},
       {us l.locked_at}, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = l.key::text AND w.until > {now}), {now_us}
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key::text AND f.token = l.sequence
 WHERE CASE WHEN $2::boolean THEN l.key::text = $1::text ELSE starts_with(l.key::text, $1::text) END
   AND l.key::text COLLATE "C" > $3::text
 ORDER BY l.key::text COLLATE "C"
 LIMIT $4::bigint;
