-- SPDX-License-Identifier: Apache-2.0
-- The table of Java's Darwin (layout=darwin); leases.sql says what the braces mean. Its times are in the zone of the session,
-- as those of Java's nodes are, and have whole seconds.

-- name: create_darwin
-- As Darwin's own script for MySQL creates it.
CREATE TABLE IF NOT EXISTS {darwin} (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  processName VARCHAR(255) NOT NULL,
  leaseUntil DATETIME NOT NULL,
  unlockKey VARCHAR(255) NOT NULL,
  UNIQUE KEY CNUN_DARWIN_LOCK (processName)
) ENGINE=InnoDB;

-- name: lock_darwin_row
-- What Java's nodes see of a lock.
{patience}SELECT unlockKey, TIMESTAMPDIFF(MICROSECOND, NOW(6), leaseUntil) FROM {darwin} WHERE processName = {key} FOR UPDATE;

-- name: insert_darwin_row
INSERT INTO {darwin} (processName, leaseUntil, unlockKey) VALUES ({key}, {lease_until}, {unlock_key});

-- name: update_darwin_row
UPDATE {darwin} SET leaseUntil = {lease_until}, unlockKey = {unlock_key} WHERE processName = {key};

-- name: delete_darwin_row
DELETE FROM {darwin} WHERE processName = {key} AND unlockKey = {unlock_key};

-- name: delete_darwin_rows
-- Rows of ours whose keys are purged: without their keys nobody would know that they are ours.
DELETE FROM {darwin} WHERE processName IN ({keys}) AND RIGHT(unlockKey, CHAR_LENGTH({suffix})) = {suffix};

-- name: list_darwin_leases
-- Keys for people, in bytewise order: ours, and those of Java's nodes. Those have no token, and are live for {grace}
-- microseconds behind their end, as an acquire waits for them so long.
--   {first}  TRUE: the first page; Java may use a lock with an empty name, which comes before all others
SELECT x.`key`, x.owner, x.token, x.until_us, x.since_us, f.note, f.detached,
       (SELECT COUNT(*) FROM {waiters} AS w WHERE w.`key` = x.`key` AND w.until > {now}), {now_us}, x.ttl_ms
  FROM (SELECT l.`key`, l.locked_by AS owner, l.sequence AS token,
               IF(d.processName IS NULL AND l.locked_by IS NOT NULL, LEAST({now_us}, COALESCE({us(l.locked_until)}, {now_us})),
                  {us(l.locked_until)}) AS until_us,
               {us(l.locked_at)} AS since_us,
               IF(l.ttl_until = l.locked_until, l.ttl_ms, NULL) AS ttl_ms  -- with ttl
               NULL AS ttl_ms  -- without ttl
          FROM {locks} AS l
          LEFT JOIN {darwin} AS d ON d.processName = l.`key`
         WHERE d.processName IS NULL OR d.unlockKey = CONCAT(LOWER(HEX(l.sequence)), {suffix})
        UNION ALL
        SELECT d.processName, CONCAT(d.unlockKey, ' (Darwin)'), 0, {now_us} + TIMESTAMPDIFF(MICROSECOND, NOW(6), d.leaseUntil) + {grace}, 0, NULL
          FROM {darwin} AS d
          LEFT JOIN {locks} AS l ON l.`key` = d.processName
         WHERE l.`key` IS NULL OR d.unlockKey <> CONCAT(LOWER(HEX(l.sequence)), {suffix})) AS x
  LEFT JOIN {facts} AS f ON f.`key` = x.`key` AND f.token = x.token
 WHERE (NOT {exact} OR x.`key` = {key}) AND ({exact} OR LEFT({bytes(x.`key`)}, {prefix_bytes}) = {prefix})
   AND ({first} OR {bytes(x.`key`)} > {after})
   AND ({free} OR x.owner IS NOT NULL OR x.`key` IN (SELECT w.`key` FROM {waiters} AS w WHERE w.until > {now}))
 ORDER BY {bytes(x.`key`)}
 LIMIT {limit};
