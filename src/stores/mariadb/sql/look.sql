-- SPDX-License-Identifier: Apache-2.0
-- What everybody sees of a key; one row, also where there is none.
SELECT {clock_us}, l.sequence, l.locked_by, {us(l.locked_until)},
       (SELECT COUNT(*)
          FROM {waiters} AS w
         WHERE w.`key` = {key} AND w.until > {now}
           AND NOT EXISTS (SELECT 1 FROM {waiters} AS o
                            WHERE o.`key` = {key} AND o.client = {client} AND o.until > {now}
                              AND o.ticket <= w.ticket))
  FROM (SELECT 1 AS one) AS one
  LEFT JOIN {locks} AS l ON l.`key` = {key};
