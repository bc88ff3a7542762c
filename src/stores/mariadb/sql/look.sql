-- SPDX-License-Identifier: Apache-2.0
-- What everybody sees of a key; one row, also where there is none.
SELECT {clock_us}, l.sequence, l.locked_by, {us(l.locked_until)}, {ahead}
  FROM {state} AS s
  LEFT JOIN {locks} AS l ON l.`key` = {key}
 WHERE s.one = 1;
