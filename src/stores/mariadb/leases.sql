-- SPDX-License-Identifier: Apache-2.0
-- The statements of leases. What stands in braces is filled in before a statement is sent:
--   {locks}, {waiters} …   the names of the tables
--   {now}, {now_us}        when the statement began: as a DATETIME in UTC, and in microseconds since 1970
--   {clock}, {clock_us}    the same of this moment: it advances while the statement waits for a row
--   {us(X)}, {bytes(X)}    the DATETIME X in microseconds since 1970; the text X as bytes
--   {patience}             on MariaDB `SET STATEMENT max_statement_time = … FOR`, on MySQL nothing
--   all others             values, as literals or lists of literals
-- A line that ends in `-- with ttl` is left out where {locks} has no columns ttl_ms and ttl_until (migrate_3_locks), one that
-- ends in `-- without ttl` where it has them.

-- name: acquire
-- Takes a key that has a row, in one statement: it is free and nobody waits for it, or this owner holds it already.
-- SET works from left to right, and LAST_INSERT_ID(token) returns the token with the count of rows.
{patience}UPDATE {locks}
   SET locked_at = IF(locked_by IS NULL, {clock}, locked_at),
       ttl_ms = IF(locked_by IS NULL OR locked_until < {clock} + INTERVAL {ttl} MICROSECOND,  -- with ttl
                   {ttl} DIV 1000, ttl_ms),  -- with ttl
       ttl_until = IF(locked_by IS NULL OR locked_until < {clock} + INTERVAL {ttl} MICROSECOND,  -- with ttl
                      {clock} + INTERVAL {ttl} MICROSECOND, ttl_until),  -- with ttl
       locked_until = IF(locked_by IS NULL, {clock} + INTERVAL {ttl} MICROSECOND,
                         GREATEST(locked_until, {clock} + INTERVAL {ttl} MICROSECOND)),
       sequence = LAST_INSERT_ID(IF(locked_by IS NOT NULL, sequence,
                    GREATEST(COALESCE(NULLIF(sequence, 0), (SELECT purged_token FROM {state})) + 1, {clock_us}))),
       locked_by = {owner}
 WHERE `key` = {key}
   AND IF(locked_by IS NULL, NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = {key}),
          locked_by = {owner} AND COALESCE(locked_until >= {clock}, TRUE))
   AND {clock_us} <= {void_after};

-- name: acquire_new
-- The same for a key that has no row yet. If another client inserts the row first, this fails with 1062.
{patience}INSERT INTO {locks} (`key`, locked_by, locked_at, locked_until,
                              ttl_ms, ttl_until,  -- with ttl
                              sequence)
SELECT {key}, {owner}, {clock}, {clock} + INTERVAL {ttl} MICROSECOND,
       {ttl} DIV 1000, {clock} + INTERVAL {ttl} MICROSECOND,  -- with ttl
       LAST_INSERT_ID(GREATEST((SELECT purged_token FROM {state}) + 1, {clock_us}))
  FROM DUAL
 WHERE NOT EXISTS (SELECT 1 FROM {locks} AS l WHERE l.`key` = {key})
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = {key})
   AND {clock_us} <= {void_after};

-- name: renew
-- Never shortens a lease. A lease without end stays without end.
{patience}UPDATE {locks}
   SET
       ttl_ms = IF(locked_until < {clock} + INTERVAL {ttl} MICROSECOND, {ttl} DIV 1000, ttl_ms),  -- with ttl
       ttl_until = IF(locked_until < {clock} + INTERVAL {ttl} MICROSECOND,  -- with ttl
                      LEAST({clock} + INTERVAL {ttl} MICROSECOND, {last_day}), ttl_until),  -- with ttl
       locked_until = GREATEST(locked_until, LEAST({clock} + INTERVAL {ttl} MICROSECOND, {last_day})),
       sequence = LAST_INSERT_ID(sequence)
 WHERE `key` = {key} AND locked_by = {owner} AND {token} IN (0, sequence)
   AND COALESCE(locked_until >= {clock}, TRUE);

-- name: extend
-- The same, counted from the end of the lease.
{patience}UPDATE {locks}
   SET locked_until = GREATEST(locked_until, LEAST(locked_until + INTERVAL {ttl} MICROSECOND, {last_day})),
       ttl_ms = IF(ttl_until = locked_until, ttl_ms, TIMESTAMPDIFF(MICROSECOND, {clock}, locked_until) DIV 1000),  -- with ttl
       ttl_until = locked_until,  -- with ttl
       sequence = LAST_INSERT_ID(sequence)
 WHERE `key` = {key} AND locked_by = {owner} AND {token} IN (0, sequence)
   AND COALESCE(locked_until >= {clock}, TRUE);

-- name: release
-- The row stays, and says since when the key is free.
{patience}UPDATE {locks}
   SET locked_by = NULL, locked_until = {clock}, sequence = LAST_INSERT_ID(sequence)
 WHERE `key` = {key} AND locked_by = {owner} AND {token} IN (0, sequence)
   AND COALESCE(locked_until >= {clock}, TRUE);

-- name: read_lease
-- The committed row of a key, without waiting for anybody; one row of NULLs if the key has none.
SELECT {now_us}, l.sequence, l.locked_by, {us(l.locked_until)}, 0
  FROM (SELECT 1) AS one
  LEFT JOIN {locks} AS l ON l.`key` = {key};

-- name: read_lease_and_position
-- The same, and how many live waiters are before this client.
SELECT {now_us}, l.sequence, l.locked_by, {us(l.locked_until)},
       (SELECT COUNT(*)
          FROM {waiters} AS w
         WHERE w.`key` = {key} AND w.until > {now}
           AND NOT EXISTS (SELECT 1 FROM {waiters} AS o
                            WHERE o.`key` = {key} AND o.client = {client} AND o.until > {now} AND o.ticket <= w.ticket))
  FROM (SELECT 1) AS one
  LEFT JOIN {locks} AS l ON l.`key` = {key};

-- name: read_owner
-- The owner of a lease that is live.
SELECT locked_by FROM {locks} WHERE `key` = {key} AND locked_by IS NOT NULL AND COALESCE(locked_until >= {now}, TRUE);

-- name: begin
-- Begins a transaction. The server soon disconnects a client that stops in the middle of it, so that others do not wait long.
SET wait_timeout = 2;
START TRANSACTION;

-- name: lock_leases
-- Locks leases and reads them with their queues. Everybody locks rows in the bytewise order of their keys.
--   {skip_locked}  SKIP LOCKED, or nothing: then it waits
{patience}SELECT `key`, locked_by, {us(locked_at)}, {us(locked_until)}, sequence
  FROM {locks} FORCE INDEX (PRIMARY)
 WHERE `key` IN ({keys})
 ORDER BY `key`
   FOR UPDATE {skip_locked};
SELECT `key`, client, waiter, {us(until)}, ticket
  FROM {waiters}
 WHERE `key` IN ({keys})
 ORDER BY `key`, ticket, client;
SELECT {now_us}, (SELECT purged_token FROM {state});

-- name: read_committed_leases
-- What everybody sees of the leases, also of those that another transaction has locked.
SELECT `key`, COALESCE(locked_by, ''), {us(locked_until)}, sequence FROM {locks} WHERE `key` IN ({keys});

-- name: update_leases
-- Writes leases that are locked. The values: WHEN key THEN value, for each key; of {ttls} and {ttl_ends} for those whose end
-- was set.
UPDATE {locks} FORCE INDEX (PRIMARY)
   SET locked_by = CASE `key` {owners} END,
       locked_at = CASE `key` {starts} END,
       locked_until = CASE `key` {ends} END,
       ttl_ms = CASE `key` {ttls} ELSE ttl_ms END,  -- with ttl
       ttl_until = CASE `key` {ttl_ends} ELSE ttl_until END,  -- with ttl
       sequence = CASE `key` {tokens} END
 WHERE `key` IN ({keys});

-- name: insert_leases
-- Keys that had no row. If another client inserts one of them first, this fails with 1062.
INSERT INTO {locks} (`key`, locked_by, locked_at, locked_until,
                     ttl_ms, ttl_until,  -- with ttl
                     sequence) VALUES {rows};

-- name: write_facts
INSERT INTO {facts}
   SET `key` = {key}, token = {token}, detached = {detached}, note = {note}
    ON DUPLICATE KEY UPDATE token = {token}, detached = {detached}, note = {note};

-- name: keep_positions
REPLACE INTO {waiters} (`key`, client, waiter, ticket, until) VALUES {rows};

-- name: leave_queue
DELETE FROM {waiters} WHERE `key` = {key} AND client = {client};

-- name: leave_queue_and_clean_it
-- Also deletes the positions that have expired, and those that end later than any position may ({latest}; NULL: none does).
DELETE FROM {waiters} WHERE `key` = {key} AND (client = {client} OR until <= {moment} OR until > {latest});

-- name: write_log
INSERT INTO {log} (at, `key`, event, holder, token, `by`, reason) VALUES {rows};

-- name: commit_in_time
-- Commits, unless the server's clock is past {void_after}: then the subquery returns two rows, which is error 1242 and ends
-- the text. It is the last check of all, because an INSERT before it may have waited for another transaction.
SELECT IF({now_us} <= {void_after}, 1, (SELECT 1 UNION ALL SELECT 2));
COMMIT;
SET wait_timeout = DEFAULT;

-- name: commit
COMMIT;
SET wait_timeout = DEFAULT;

-- name: roll_back
ROLLBACK;
SET wait_timeout = DEFAULT;

-- name: list_leases
-- Keys for people, in bytewise order. A statement that grants reads the clock for each column, so ttl_until may be some
-- microseconds off.
--   {exact}  TRUE: only {key}; FALSE: those that begin with {prefix}
--   {free}   TRUE: also keys that nobody holds or waits for
SELECT l.`key`, l.locked_by, l.sequence, {us(l.locked_until)}, {us(l.locked_at)}, f.note, f.detached,
       (SELECT COUNT(*) FROM {waiters} AS w WHERE w.`key` = l.`key` AND w.until > {now}), {now_us}
     , IF(l.ttl_until BETWEEN l.locked_until - INTERVAL 10000 MICROSECOND  -- with ttl
                          AND l.locked_until + INTERVAL 10000 MICROSECOND, l.ttl_ms, NULL)  -- with ttl
     , NULL  -- without ttl
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.`key` = l.`key` AND f.token = l.sequence
 WHERE (NOT {exact} OR l.`key` = {key}) AND ({exact} OR LEFT({bytes(l.`key`)}, {prefix_bytes}) = {prefix})
   AND {bytes(l.`key`)} > {after}
   AND ({free} OR l.locked_by IS NOT NULL OR l.`key` IN (SELECT w.`key` FROM {waiters} AS w WHERE w.until > {now}))
 ORDER BY {bytes(l.`key`)}
 LIMIT {limit};

-- name: list_waiters
-- Live waiters for people, the next of each key first.
SELECT w.`key`, w.client, w.waiter, {us(w.until)}, {now_us}
  FROM {waiters} AS w
 WHERE (NOT {exact} OR w.`key` = {key}) AND ({exact} OR LEFT({bytes(w.`key`)}, {prefix_bytes}) = {prefix})
   AND {bytes(w.`key`)} > {after} AND w.until > {now}
 ORDER BY {bytes(w.`key`)}, w.ticket, w.client
 LIMIT {limit};

-- name: list_log
-- The log, newest first.
SELECT {us(g.at)}, g.`key`, g.event, g.holder, g.token, g.`by`, g.reason
  FROM {log} AS g
 WHERE (NOT {exact} OR g.`key` = {key}) AND ({exact} OR LEFT({bytes(g.`key`)}, {prefix_bytes}) = {prefix})
 ORDER BY g.id DESC
 LIMIT {limit};

-- name: lock_expired_waiters
-- To be deleted; those that another transaction has locked stay.
SET wait_timeout = 5;
START TRANSACTION;
SELECT `key`, client FROM {waiters} WHERE until <= {now} LIMIT {limit} FOR UPDATE SKIP LOCKED;

-- name: delete_waiters
DELETE FROM {waiters} WHERE (`key`, client) IN ({positions});

-- name: next_keys
-- The table is purged in parts.
SELECT `key` FROM {locks} WHERE `key` > {behind} ORDER BY `key` LIMIT {limit};

-- name: lock_free_keys
-- The keys of a part that have been free for so long. Those that another transaction has locked stay, and so do those whose
-- token is ahead of the clock: all new keys would have to start behind it.
SET wait_timeout = 5;
START TRANSACTION;
SELECT l.`key`, l.sequence
  FROM {locks} AS l FORCE INDEX (PRIMARY)
 WHERE l.`key` > {behind} AND l.`key` <= {last}
   AND l.locked_until < {now} - INTERVAL {free_for} MICROSECOND
   AND l.sequence < {now_us}
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = l.`key` AND w.until > {now})
   FOR UPDATE SKIP LOCKED;

-- name: delete_keys
-- Their largest token is kept, so that tokens rise across a purge.
UPDATE {state} SET purged_token = GREATEST(purged_token, {largest_token});
DELETE FROM {facts} WHERE `key` IN ({keys});
DELETE FROM {locks} WHERE `key` IN ({keys});

-- name: delete_log
DELETE FROM {log} WHERE at <= {now} - INTERVAL {older_than} MICROSECOND;
