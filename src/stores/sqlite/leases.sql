-- SPDX-License-Identifier: Apache-2.0
-- Every statement on the tables of leases: on one key first, then the queue, lists for people, and tidying.
--
-- {locks} is replaced by the name of the lock table that was asked for, {waiters}, {facts}, {log} and {state}
-- by names that are made from it (tables.h).  boottime(), walltime(), in_time() and tell() are functions of ours
-- (connection.h): whoever runs a statement by hand writes numbers instead.  Microseconds everywhere; `until` and
-- locked_until are counted on boottime(), what ends in _at on walltime().
--
-- A line that ends in `-- with ttl` is left out where {locks} has no columns ttl_ms and ttl_until (migrate_3_locks).

-- name: begin_writing
-- Takes the write lock at once.  A transaction that only reads first may find, when it wants to write, that
-- another has written.
BEGIN IMMEDIATE;

-- name: begin_reading
-- What is read belongs to one moment; the write lock is not needed.
BEGIN;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: acquire
-- The ordinary acquire, in one step: nobody has the key and nobody waits for it.  Nothing is changed when
-- that is not so, or when the caller's time is over.
-- ?1 key  ?2 holder  ?3 ttl in microseconds, NULL: without end
-- told: the token
INSERT INTO {locks} (key, locked_by, locked_at, locked_until,
                     ttl_ms, ttl_until,  -- with ttl
                     sequence)
SELECT ?1, ?2, walltime(), boottime() + ?3,
       ?3 / 1000, boottime() + ?3,  -- with ttl
       tell(max(walltime(), (SELECT purged_token + 1 FROM {state})))
 WHERE in_time()
   AND NOT EXISTS (SELECT 1 FROM {waiters} WHERE key = ?1)
ON CONFLICT (key) DO UPDATE
   SET locked_by = excluded.locked_by,
       locked_at = excluded.locked_at,
       locked_until = excluded.locked_until,
       ttl_ms = excluded.ttl_ms, ttl_until = excluded.ttl_until,  -- with ttl
       sequence = tell(max(sequence + 1, walltime()))
 WHERE locked_by IS NULL
   AND sequence BETWEEN 0 AND 9223372036854775806;

-- name: renew
-- Renews what the holder has, never for less than it had.  A lease without end stays so: max() and min()
-- of NULL are NULL.
-- ?1 key  ?2 holder  ?3 token, 0: any  ?4 ttl in microseconds, NULL: without end  ?5 add ttl to what is left
-- ?6 latest end
-- told: the new end, the token
UPDATE {locks}
   SET
       ttl_ms = CASE WHEN ?5 AND locked_until < ?6 THEN (min(locked_until + ?4, ?6) - boottime()) / 1000  -- with ttl
                     WHEN locked_until < boottime() + ?4 THEN ?4 / 1000 ELSE ttl_ms END,  -- with ttl
       ttl_until = CASE WHEN ?5 THEN min(locked_until + ?4, ?6)  -- with ttl
                        WHEN locked_until < boottime() + ?4 THEN boottime() + ?4 ELSE ttl_until END,  -- with ttl
       locked_until = tell(
         CASE WHEN ?5 THEN min(locked_until + ?4, ?6) ELSE max(locked_until, boottime() + ?4) END,
         sequence)
 WHERE key = ?1
   AND locked_by = ?2
   AND (?3 = 0 OR sequence = ?3)
   AND (locked_until IS NULL OR locked_until >= boottime());

-- name: release
-- Frees what the holder has; the row stays.
-- ?1 key  ?2 holder  ?3 token, 0: any  ?4 client
-- told: the token, whether somebody waits, whether ?4's death would have ended the lease
UPDATE {locks}
   SET locked_by = NULL,
       locked_until = boottime(),
       sequence = tell(
         sequence,
         EXISTS (SELECT 1 FROM {waiters} WHERE key = ?1),
         EXISTS (SELECT 1 FROM {facts} AS f WHERE f.key = ?1 AND f.token = sequence AND f.client = ?4))
 WHERE key = ?1
   AND locked_by = ?2
   AND (?3 = 0 OR sequence = ?3)
   AND (locked_until IS NULL OR locked_until >= boottime());

-- name: lookup
-- What is known about a key.
-- ?1 key
SELECT l.locked_by, l.locked_until, l.sequence, f.client
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key AND f.token = l.sequence
 WHERE l.key = ?1;

-- name: purged_token
-- No key that is not there any more had a larger token.
SELECT purged_token FROM {state};

-- name: grant_key
-- Gives the key away, whatever the row says: the decision was made in the same transaction.
-- ?1 key  ?2 holder  ?3 end, NULL: without  ?4 token  ?5 ttl in milliseconds, NULL: without end
INSERT INTO {locks} (key, locked_by, locked_at, locked_until,
                     ttl_ms, ttl_until,  -- with ttl
                     sequence)
VALUES (?1, ?2, walltime(), ?3,
        ?5, ?3,  -- with ttl
        ?4)
ON CONFLICT (key) DO UPDATE
   SET locked_by = excluded.locked_by,
       locked_at = excluded.locked_at,
       locked_until = excluded.locked_until,
       ttl_ms = excluded.ttl_ms, ttl_until = excluded.ttl_until,  -- with ttl
       sequence = excluded.sequence;

-- name: set_end
-- The holder acquires or renews what it has: same token, new end.
-- ?1 key  ?2 end, NULL: without  ?3 ttl in milliseconds, NULL: without end, or the end stays
UPDATE {locks}
   SET
       ttl_ms = CASE WHEN locked_until IS ?2 THEN ttl_ms ELSE ?3 END,  -- with ttl
       ttl_until = CASE WHEN locked_until IS ?2 THEN ttl_until ELSE ?2 END,  -- with ttl
       locked_until = ?2
 WHERE key = ?1;

-- name: free_key
-- Frees the key, whoever holds it: the decision was made in the same transaction.
-- ?1 key
UPDATE {locks} SET locked_by = NULL, locked_until = boottime() WHERE key = ?1;

-- name: set_facts
-- What is special about a grant.
-- ?1 key  ?2 token  ?3 client  ?4 detached  ?5 note
INSERT INTO {facts} (key, token, client, detached, note)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key) DO UPDATE
   SET token = excluded.token,
       client = excluded.client,
       detached = excluded.detached,
       note = excluded.note;

-- name: set_client
-- From now on that client's death ends the grant; the rest of what is known about it stays.
-- ?1 key  ?2 token  ?3 client, '': nobody's death does
INSERT INTO {facts} (key, token, client, detached, note)
VALUES (?1, ?2, ?3, 0, '')
ON CONFLICT (key) DO UPDATE
   SET client = excluded.client,
       detached = CASE token WHEN excluded.token THEN detached ELSE 0 END,
       note = CASE token WHEN excluded.token THEN note ELSE '' END,
       token = excluded.token;

-- name: add_to_log
-- A lease was lost to another, or broken.
-- ?1 key  ?2 event  ?3 who lost it  ?4 the token that was lost  ?5 who has it now, or broke it  ?6 reason
INSERT INTO {log} (at, key, event, holder, token, by, reason)
VALUES (walltime(), ?1, ?2, ?3, ?4, ?5, ?6);

-- name: queue
-- Everybody who waits for a key, first come first.
-- ?1 key
SELECT client, until FROM {waiters} WHERE key = ?1 ORDER BY ticket;

-- name: drop_expired_places
-- Takes away the places that have run out, so that coming back late means queueing again.
-- ?1 key
DELETE FROM {waiters} WHERE key = ?1 AND until <= boottime();

-- name: keep_place
-- Queues at the end, or refreshes the place where it is.
-- ?1 key  ?2 client  ?3 who would hold it  ?4 until
INSERT INTO {waiters} (key, client, waiter, ticket, until)
SELECT ?1, ?2, ?3, coalesce((SELECT max(ticket) FROM {waiters} WHERE key = ?1), 0) + 1, ?4
 WHERE true
ON CONFLICT (key, client) DO UPDATE SET waiter = excluded.waiter, until = excluded.until;

-- name: leave_queue
-- ?1 key  ?2 client
DELETE FROM {waiters} WHERE key = ?1 AND client = ?2;

-- name: list_leases
-- All keys from one on, for people.
-- ?1 first key  ?2 behind this key  ?3 also those that were given back and that nobody waits for
SELECT l.key, l.locked_by, l.locked_until, l.sequence, f.client, l.locked_at, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = l.key AND w.until > boottime()) AS waiting
     , CASE WHEN l.ttl_until = l.locked_until THEN l.ttl_ms END AS ttl_ms  -- with ttl
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key AND f.token = l.sequence
 WHERE l.key >= ?1 AND l.key > ?2
   AND (?3 OR l.locked_by IS NOT NULL OR l.key IN (SELECT w.key FROM {waiters} AS w WHERE w.until > boottime()))
 ORDER BY l.key;

-- name: list_places
-- All live places from one key on, first in the queue first.
-- ?1 first key  ?2 behind this key
SELECT key, client, waiter, until
  FROM {waiters}
 WHERE key >= ?1 AND key > ?2 AND until > boottime()
 ORDER BY key, ticket;

-- name: list_log
-- What was written down, newest first.
SELECT at, key, event, holder, token, by, reason FROM {log} ORDER BY rowid DESC;

-- name: sweep_position
-- How far the sweep has come in {locks}.
SELECT swept_to FROM {state};

-- name: last_key_of_part
-- The last key of the next part of the table; no row: the rest is shorter than that.
-- ?1 behind this key
SELECT key FROM {locks} WHERE key > ?1 ORDER BY key LIMIT 1 OFFSET 499;

-- name: purge_places
-- Takes away the places of a part that have run out.
-- ?1 behind this key  ?2 up to this one
DELETE FROM {waiters} WHERE key > ?1 AND key <= ?2 AND until <= boottime();

-- name: raise_purged_token
-- Remembers the largest token that `purge_keys` is about to take away.
-- ?1 behind this key  ?2 up to this one  ?3 free for so many microseconds
UPDATE {state}
   SET purged_token = max(
         purged_token,
         coalesce(
           (SELECT max(sequence)
              FROM {locks}
             WHERE key > ?1 AND key <= ?2
               AND locked_until <= boottime() - ?3
               AND (locked_by IS NULL OR locked_until < boottime())
               AND sequence < walltime()
               AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.key = {locks}.key)),
           0));

-- name: purge_keys
-- Takes away the keys of a part that have been free so long.  Not one whose last token is ahead of the wall
-- clock: all new keys would have to start behind it (`raise_purged_token`, which has the same conditions).
-- ?1 behind this key  ?2 up to this one  ?3 free for so many microseconds
DELETE FROM {locks}
 WHERE key > ?1 AND key <= ?2
   AND locked_until <= boottime() - ?3
   AND (locked_by IS NULL OR locked_until < boottime())
   AND sequence < walltime()
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.key = {locks}.key);

-- name: purge_facts
-- Takes away what is known about grants of a part that are over.
-- ?1 behind this key  ?2 up to this one
DELETE FROM {facts}
 WHERE key > ?1 AND key <= ?2
   AND NOT EXISTS (SELECT 1 FROM {locks} AS l WHERE l.key = {facts}.key AND l.sequence = {facts}.token);

-- name: trim_log
-- Keeps the last 10,000 of what was written down.
DELETE FROM {log} WHERE rowid <= (SELECT max(rowid) FROM {log}) - 10000;

-- name: set_sweep_position
-- It always writes: the first to write after a checkpoint starts the log anew.
-- ?1 the last key of the part, '': the table's end was reached
UPDATE {state} SET swept_to = ?1, swept_at = walltime();

-- name: purge_log
-- Takes away what was written down so long ago.
-- ?1 so many microseconds
DELETE FROM {log} WHERE at <= walltime() - ?1;

-- name: client_is_mentioned
-- Whether a client that died may still be named anywhere.  Says yes without looking when the table is large.
-- ?1 client
SELECT (SELECT count(*) FROM (SELECT 1 FROM {locks} LIMIT 5000)) = 5000
    OR EXISTS (SELECT 1 FROM {locks}
                WHERE instr(locked_by, 'guid:' || ?1) AND (locked_until IS NULL OR locked_until >= boottime()))
    OR EXISTS (SELECT 1 FROM {facts} WHERE client = ?1)
    OR EXISTS (SELECT 1 FROM {waiters} WHERE client = ?1);
