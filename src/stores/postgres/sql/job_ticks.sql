-- SPDX-License-Identifier: Apache-2.0
-- The last tick of a name.
-- $1 name  $2 period in microseconds, NULL: none
SELECT t.tick, t.by, {us t.at}, {us t.success}, c.us, c.us - c.us % $2::bigint AS wanted
  FROM (SELECT {now_us} AS us OFFSET 0) AS c
  LEFT JOIN {ticks} AS t ON t.name = $1::text;
