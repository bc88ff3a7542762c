-- SPDX-License-Identifier: Apache-2.0
-- What `init` creates where it is missing: a table for each name create_TABLE, and the row of {state}.
-- migrate_N_TABLE brings a table of an older version to version N, after all that is missing was created. Until then the
-- table has none of the columns that it adds.
-- The comments and the columns are printed by `init --dry-run`, and every connection checks the tables for these columns.
-- All times are UTC. Text is stored as bytes (UTF-8), so that no collation makes two keys equal.

-- name: create_locks
-- Leases. A row outlives its lease, so that `sequence`, the fencing token, never restarts.
--   locked_by     NULL: free
--   locked_until  end of the lease; NULL: it has no end; of a free row: since when it is free
--   ttl_ms        how long it was granted or renewed for; true only while ttl_until is locked_until, which a Holdfast that
--                 does not know these columns changes alone
-- There is no second index: two indexes would be locked in two orders.
CREATE TABLE IF NOT EXISTS {locks} (
  `key` {key_type} NOT NULL PRIMARY KEY,
  locked_by VARBINARY(512),
  locked_at DATETIME(6),
  locked_until DATETIME(6),
  sequence BIGINT NOT NULL DEFAULT 0,
  ttl_ms BIGINT,
  ttl_until DATETIME(6)
) ENGINE=InnoDB;

-- name: migrate_3_locks
-- Version 3: how long a lease was granted or renewed for.
ALTER TABLE {locks} ADD COLUMN ttl_ms BIGINT, ADD COLUMN ttl_until DATETIME(6);

-- name: create_waiters
-- Waiters. A queue position is a short lease of its own; the smallest live ticket of a key is next.
--   waiter  the owner that waits, for people
CREATE TABLE IF NOT EXISTS {waiters} (
  `key` {key_type} NOT NULL,
  client VARBINARY(16) NOT NULL,
  waiter VARBINARY(512) NOT NULL,
  ticket BIGINT NOT NULL,
  until DATETIME(6) NOT NULL,
  PRIMARY KEY (`key`, client)
) ENGINE=InnoDB;

-- name: create_facts
-- What {locks} has no column for; valid only while `token` is the sequence of that row.
CREATE TABLE IF NOT EXISTS {facts} (
  `key` {key_type} NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  detached TINYINT NOT NULL,
  note VARBINARY(4096) NOT NULL
) ENGINE=InnoDB;

-- name: create_log
-- Events that people may ask about later: 'taken-over' and 'broken'.
CREATE TABLE IF NOT EXISTS {log} (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at DATETIME(6) NOT NULL,
  `key` {key_type} NOT NULL,
  event VARBINARY(16) NOT NULL,
  holder VARBINARY(512) NOT NULL,
  token BIGINT NOT NULL,
  `by` VARBINARY(512) NOT NULL,
  reason VARBINARY(4096) NOT NULL,
  KEY (`key`)
) ENGINE=InnoDB;

-- name: create_state
-- It has one row.
--   purged_token  no purged key had a larger token
--   version       of these tables: that of the last migration
--   needs         a Holdfast that knows only older versions than this must not use them
-- Of the last two the default counts, which every connection reads: a dump without data has it too.
CREATE TABLE IF NOT EXISTS {state} (
  one TINYINT NOT NULL DEFAULT 1 PRIMARY KEY,
  purged_token BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 3,
  needs BIGINT NOT NULL DEFAULT 2
) ENGINE=InnoDB;

-- name: migrate_3_state
-- The version stands with the tables from now on.
ALTER TABLE {state} ADD COLUMN version BIGINT NOT NULL DEFAULT 3, ADD COLUMN needs BIGINT NOT NULL DEFAULT 2;

-- name: create_state_row
-- The only row of {state}.
INSERT IGNORE INTO {state} (one) VALUES (1);

-- name: create_jobs
-- Jobs, each with its slot and its claim. The lock of a job is a row of {locks}.
--   slot            unique: at most one job of a key has it; NULL: none
--   ready_priority  queued and due: its priority; NULL: it cannot be claimed now
--   aside_until     queued and not due, or it waits for its lock: until when
--   claim_until     running: its worker's claim lasts until then
--   waits_for       queued: the key whose lock was held; it waits for that lock until aside_until
--   over_at         done, dropped or cancelled: since when
-- Claims and purges search by the last five, and do not read rows that have NULL there.
CREATE TABLE IF NOT EXISTS {jobs} (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARBINARY(512) NOT NULL,
  queue VARBINARY(512) NOT NULL,
  args LONGBLOB NOT NULL,
  `key` VARBINARY(512) NOT NULL,
  priority INT NOT NULL,
  state VARBINARY(16) NOT NULL,
  enqueued_at DATETIME(6) NOT NULL,
  run_at DATETIME(6) NOT NULL,
  due_at DATETIME(6) NOT NULL,
  started_at DATETIME(6),
  finished_at DATETIME(6),
  attempt INT NOT NULL,
  crashes INT NOT NULL,
  max_attempts INT NOT NULL,
  lock_ttl_ms BIGINT NOT NULL,
  lock_fixed TINYINT NOT NULL,
  lock_limit INT NOT NULL,
  on_conflict VARBINARY(16) NOT NULL,
  uniqueness VARBINARY(16) NOT NULL,
  parked TINYINT NOT NULL,
  holder VARBINARY(512) NOT NULL,
  lock_key VARBINARY(512) NOT NULL,
  lock_token BIGINT NOT NULL,
  duplicates BIGINT NOT NULL,
  error LONGBLOB NOT NULL,
  trail BLOB NOT NULL,
  slot VARBINARY(520),
  ready_priority INT,
  aside_until DATETIME(6),
  claim_until DATETIME(6),
  waits_for VARBINARY(512),
  over_at DATETIME(6),
  UNIQUE KEY slot (slot),
  KEY ready (queue, ready_priority, run_at),
  KEY aside (queue, aside_until),
  KEY claimed (queue, claim_until),
  KEY waiting (waits_for, priority, run_at),
  KEY over_at (over_at),
  KEY state (state),
  KEY of_key (`key`)
) ENGINE=InnoDB;

-- name: create_ticks
-- The last tick and the last success of each name.
--   tick   NULL: a transaction was about to take the first one
--   until  the row may be deleted after that; NULL: it is kept
CREATE TABLE IF NOT EXISTS {ticks} (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  tick BIGINT,
  job BIGINT NOT NULL DEFAULT 0,
  taken_by VARBINARY(512) NOT NULL DEFAULT '',
  taken_at DATETIME(6),
  success_at DATETIME(6),
  until DATETIME(6),
  KEY until (until)
) ENGINE=InnoDB;
