-- SPDX-License-Identifier: Apache-2.0
-- What was written down, newest first.
-- $1 prefix, or the whole key  $2 it is the whole key  $3 so many
SELECT {us g.at}, g.key, g.event, g.holder, g.token, g.by, g.reason
  FROM {log} AS g
 WHERE CASE WHEN $2::boolean THEN g.key = $1::text ELSE starts_with(g.key, $1::text) END
 ORDER BY g.id DESC
 LIMIT $3::bigint;
