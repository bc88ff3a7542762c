-- SPDX-License-Identifier: Apache-2.0
-- Keys for people, in bytewise order: ours, and those of Darwin's nodes, which have no token and are live for so long
-- behind their end as an acquire waits.  Java may call a lock by the empty name, which comes before the first of a page's
-- keys ({first}: there is none).
SELECT x.`key`, x.holder, x.token, x.until_us, x.since_us, f.note, f.detached,
       (SELECT COUNT(*) FROM {waiters} AS w WHERE w.`key` = x.`key` AND w.until > {now}), {now_us}
  FROM (SELECT l.`key`, l.locked_by AS holder, l.sequence AS token,
               IF(d.processName IS NULL AND l.locked_by IS NOT NULL, LEAST({now_us}, COALESCE({us(l.locked_until)}, {now_us})),
                  {us(l.locked_until)}) AS until_us,
               {us(l.locked_at)} AS since_us
          FROM {locks} AS l
          LEFT JOIN {darwin} AS d ON d.processName = l.`key`
         WHERE d.processName IS NULL OR d.unlockKey = CONCAT(LOWER(HEX(l.sequence)), {suffix})
        UNION ALL
        SELECT d.processName, CONCAT(d.unlockKey, ' (Darwin)'), 0, {now_us} + TIMESTAMPDIFF(MICROSECOND, NOW(6), d.leaseUntil) + {grace}, 0
          FROM {darwin} AS d
          LEFT JOIN {locks} AS l ON l.`key` = d.processName
         WHERE l.`key` IS NULL OR d.unlockKey <> CONCAT(LOWER(HEX(l.sequence)), {suffix})) AS x
  LEFT JOIN {facts} AS f ON f.`key` = x.`key` AND f.token = x.token
 WHERE {wanted} AND ({first} OR {bytes(x.`key`)} > {after})
   AND ({free} OR x.holder IS NOT NULL OR x.`key` IN (SELECT w.`key` FROM {waiters} AS w WHERE w.until > {now}))
 ORDER BY {bytes(x.`key`)}
 LIMIT {limit};
