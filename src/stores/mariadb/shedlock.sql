-- SPDX-License-Identifier: Apache-2.0
-- The table of Java's ShedLock (layout=shedlock); leases.sql says what the braces mean. Its times are UTC, whatever the zone of
-- the session: so they are read and written in the server's own zone, as ShedLock does.

-- name: create_shedlock
-- As ShedLock's page creates it for MySQL and MariaDB.
CREATE TABLE IF NOT EXISTS {shedlock} (
  name VARCHAR(64) NOT NULL,
  lock_until TIMESTAMP(3) NOT NULL,
  locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  locked_by VARCHAR(255) NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB;

-- name: lock_shedlock_row
-- What ShedLock sees of a lock.
{patience}SELECT locked_by, {us(lock_until)} FROM {shedlock} WHERE name = {key} FOR UPDATE;

-- name: insert_shedlock_row
INSERT INTO {shedlock} (name, lock_until, locked_at, locked_by) VALUES ({key}, {lock_until}, {locked_at}, {locked_by});

-- name: update_shedlock_row
UPDATE {shedlock} SET lock_until = {lock_until}, locked_at = {locked_at}, locked_by = {locked_by} WHERE name = {key};

-- name: free_shedlock_row
-- The row stays: a JVM that has seen it does not insert it again.
UPDATE {shedlock} SET lock_until = {lock_until} WHERE name = {key} AND locked_by = {locked_by};

-- name: list_shedlock_leases
-- Keys for people, in bytewise order: ours, and those that ShedLock holds, which have no token.
SELECT x.`key`, x.owner, x.token, x.until_us, x.since_us, f.note, f.detached,
       (SELECT COUNT(*) FROM {waiters} AS w WHERE w.`key` = x.`key` AND w.until > {now}), {now_us}, x.ttl_ms
  FROM (SELECT l.`key`, l.locked_by AS owner, l.sequence AS token,
               IF(l.locked_by IS NULL OR (s.lock_until > {now} AND s.locked_by LIKE CONCAT('%holdfast-', LOWER(HEX(l.sequence)))),
                  {us(l.locked_until)}, LEAST({now_us} - 1, COALESCE({us(l.locked_until)}, {now_us}))) AS until_us,
               {us(l.locked_at)} AS since_us,
               IF(l.ttl_until = l.locked_until, l.ttl_ms, NULL) AS ttl_ms  -- with ttl
               NULL AS ttl_ms  -- without ttl
          FROM {locks} AS l
          LEFT JOIN {shedlock} AS s ON s.name = l.`key`
         WHERE s.name IS NULL OR s.lock_until <= {now} OR s.locked_by LIKE CONCAT('%holdfast-', LOWER(HEX(l.sequence)))
        UNION ALL
        SELECT s.name, CONCAT(s.locked_by, ' (ShedLock)'), 0, {us(s.lock_until)} - 1, {us(s.locked_at)}, NULL
          FROM {shedlock} AS s
          LEFT JOIN {locks} AS l ON l.`key` = s.name
         WHERE s.lock_until > {now} AND (l.`key` IS NULL OR s.locked_by NOT LIKE CONCAT('%holdfast-', LOWER(HEX(l.sequence))))) AS x
  LEFT JOIN {facts} AS f ON f.`key` = x.`key` AND f.token = x.token
 WHERE (NOT {exact} OR x.`key` = {key}) AND ({exact} OR LEFT({bytes(x.`key`)}, {prefix_bytes}) = {prefix})
   AND ({first} OR {bytes(x.`key`)} > {after})
   AND ({free} OR x.owner IS NOT NULL OR x.`key` IN (SELECT w.`key` FROM {waiters} AS w WHERE w.until > {now}))
 ORDER BY {bytes(x.`key`)}
 LIMIT {limit};
