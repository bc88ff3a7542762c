-- SPDX-License-Identifier: Apache-2.0
-- Keys for people, in bytewise order.
SELECT l.`key`, l.locked_by, l.sequence, {us(l.locked_until)}, {us(l.locked_at)}, f.note, f.detached,
       (SELECT COUNT(*) FROM {waiters} AS w WHERE w.`key` = l.`key` AND w.until > {now}), {now_us}
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.`key` = l.`key` AND f.token = l.sequence
 WHERE {wanted} AND {bytes(l.`key`)} > {after}
   AND ({free} OR l.locked_by IS NOT NULL OR l.`key` IN (SELECT w.`key` FROM {waiters} AS w WHERE w.until > {now}))
 ORDER BY {bytes(l.`key`)}
 LIMIT {limit};
