-- SPDX-License-Identifier: Apache-2.0
-- Live places for people, first in the queue first.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 behind this key  $4 so many
SELECT w.key, w.client, w.waiter, {us w.until}, {now_us}
  FROM {waiters} AS w
 WHERE CASE WHEN $2::boolean THEN w.key = $1::text ELSE starts_with(w.key, $1::text) END
   AND w.key COLLATE "C" > $3::text
   AND w.until > {now}
 ORDER BY w.key COLLATE "C", w.ticket
 LIMIT $4::bigint;
