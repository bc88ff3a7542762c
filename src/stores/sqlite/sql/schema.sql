-- SPDX-License-Identifier: Apache-2.0
-- The tables of one lock table.  {locks} is the one that is asked for (`locks` unless told otherwise); the
-- others are named after it, so that several lock tables live in one file.
--
-- Times end in what they are counted on: *_at is the wall clock (microseconds since 1970, for people),
-- *until is CLOCK_BOOTTIME (microseconds since the machine started, decides).

-- What is locked.  A row outlives its lease, so that `sequence`, the fencing token, never restarts.
--   locked_by     NULL: free
--   locked_until  end of the lease; NULL: without end; of a free row: since when it is free
CREATE TABLE IF NOT EXISTS {locks} (
  key TEXT PRIMARY KEY,
  locked_by TEXT,
  locked_at INTEGER,
  locked_until INTEGER,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;

-- Who waits.  A place is a short lease of its own; the smallest live ticket of a key is next.
--   waiter  who would hold it, for people
CREATE TABLE IF NOT EXISTS {waiters} (
  key TEXT NOT NULL,
  client TEXT NOT NULL,
  waiter TEXT NOT NULL,
  ticket INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (key, client)
) WITHOUT ROWID;

-- What {locks} has no column for; true only while `token` is that row's sequence.
--   client  whose death ends the lease at once; '': nobody's, it ends by release or in time.  A lease
--           without a row here belongs to the client its holder's guid begins with.
CREATE TABLE IF NOT EXISTS {facts} (
  key TEXT PRIMARY KEY,
  token INTEGER NOT NULL,
  client TEXT NOT NULL,
  detached INTEGER NOT NULL,
  note TEXT NOT NULL
) WITHOUT ROWID;

-- What somebody may ask about later: 'taken-over' and 'broken'.
CREATE TABLE IF NOT EXISTS {log} (
  at INTEGER NOT NULL,
  key TEXT NOT NULL,
  event TEXT NOT NULL,
  holder TEXT NOT NULL,
  token INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL
);

-- One row.
--   boot_id, time_namespace  whose clock locked_until counts on
--   swept_to, swept_at       how far the sweep has come in {locks}, and when
--   purged_token             no key that was taken away had a larger one: where the next of its tokens starts
CREATE TABLE IF NOT EXISTS {state} (
  boot_id TEXT NOT NULL,
  time_namespace INTEGER NOT NULL,
  swept_to TEXT NOT NULL,
  swept_at INTEGER NOT NULL,
  purged_token INTEGER NOT NULL
);

INSERT INTO {state} (boot_id, time_namespace, swept_to, swept_at, purged_token)
SELECT this_boot(), this_time_namespace(), '', walltime(), 0
 WHERE NOT EXISTS (SELECT 1 FROM {state});
