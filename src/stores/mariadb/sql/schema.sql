-- SPDX-License-Identifier: Apache-2.0
-- Everything that `init` can have to make, each under the name by which plan() knows whether it is there.
-- All times are UTC.  Text is kept as bytes (UTF-8), so that no collation makes two keys one.

-- locks: what is locked.  A row outlives its lease, so that `sequence`, the fencing token, never restarts.
--   locked_by     NULL: free
--   locked_until  end of the lease; NULL: without end; of a free row: since when it is free
-- It has no other index: two would be locked in two orders.
CREATE TABLE IF NOT EXISTS {locks} (
  `key` {key_type} NOT NULL PRIMARY KEY,
  locked_by VARBINARY(512),
  locked_at DATETIME(6),
  locked_until DATETIME(6),
  sequence BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

-- waiters: who waits.  A place is a short lease of its own; the smallest live ticket of a key is next.
--   waiter  who would hold it, for people
CREATE TABLE IF NOT EXISTS {waiters} (
  `key` {key_type} NOT NULL,
  client VARBINARY(16) NOT NULL,
  waiter VARBINARY(512) NOT NULL,
  ticket BIGINT NOT NULL,
  until DATETIME(6) NOT NULL,
  PRIMARY KEY (`key`, client)
) ENGINE=InnoDB;

-- facts: what {locks} has no column for; true only while `token` is that row's sequence.
CREATE TABLE IF NOT EXISTS {facts} (
  `key` {key_type} NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  detached TINYINT NOT NULL,
  note VARBINARY(4096) NOT NULL
) ENGINE=InnoDB;

-- log: what somebody may ask about later: 'taken-over' and 'broken'.
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

-- state: one row.
--   purged_token  no key that was purged had a larger one
CREATE TABLE IF NOT EXISTS {state} (
  one TINYINT NOT NULL DEFAULT 1 PRIMARY KEY,
  purged_token BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

-- state_row: the only one.
INSERT IGNORE INTO {state} (one) VALUES (1);

-- jobs: each with its slot, its claim and the name of its lock, which is a row of {locks}.
--   slot            of a key at most one job; NULL: none
--   ready_priority  queued, and its time has come: its priority; NULL: it is not to be claimed now
--   aside_until     queued, and its time has not come
--   claim_until     running: its worker lives until then
--   waits_for       queued: the key whose lock it has found held, until its time comes
--   over_at         done, dropped or cancelled: since then
-- Claims and purges search by the last five: they do not see a row that has NULL there.
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

-- ticks: a name's last tick and last success.
--   tick   NULL: somebody was about to take the first one
--   until  UTC: nobody asks for it afterwards; NULL: it is kept
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

-- darwin: as Darwin's own script for MySQL makes it.
CREATE TABLE IF NOT EXISTS {darwin} (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  processName VARCHAR(255) NOT NULL,
  leaseUntil DATETIME NOT NULL,
  unlockKey VARCHAR(255) NOT NULL,
  UNIQUE KEY CNUN_DARWIN_LOCK (processName)
) ENGINE=InnoDB;
