-- SPDX-License-Identifier: Apache-2.0
-- What everybody sees of a key; one row, also where there is none.
-- It waits for nothing, so the time at which it begins is as good as any, and is UTC whatever the session's zone is.
SELECT {now_us}, l.sequence, l.locked_by, {us(l.locked_until)}, {ahead}
  FROM (SELECT 1) AS one
  LEFT JOIN {locks} AS l ON l.`key` = {key};
