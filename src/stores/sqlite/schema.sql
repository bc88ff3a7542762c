-- SPDX-License-Identifier: Apache-2.0
-- The tables in the file: making them, looking at them, and what a reboot changes in them.
--
-- {locks} is replaced by the name of the lock table that was asked for (`locks` unless told otherwise),
-- {waiters}, {jobs} and the like by names that are made from it (tables.h).  boottime(), walltime(), this_boot()
-- and this_time_namespace() are functions of ours (connection.h).  `schema`, `jobs_schema`, `migrate_…` and `reboot`
-- are scripts of several statements; `holdfast init --dry-run` prints the first, or the migrations that are due.

-- name: schema
-- The tables of one lock table.  {locks} is the one that is asked for (`locks` unless told otherwise); the
-- others are named after it, so that several lock tables live in one file.
--
-- Times end in what they are counted on: *_at is the wall clock (microseconds since 1970, for people),
-- *until is CLOCK_BOOTTIME (microseconds since the machine started, decides).

-- What is locked.  A row outlives its lease, so that `sequence`, the fencing token, never restarts.
--   locked_by     NULL: free
--   locked_until  end of the lease; NULL: without end; of a free row: since when it is free
--   ttl_ms        how long it was granted or renewed for; true only while ttl_until is locked_until, which a
--                 Holdfast that does not know these columns changes alone
-- Columns behind the comma that begins a line were added by a migration: ALTER TABLE writes them so.
CREATE TABLE IF NOT EXISTS {locks} (
  key TEXT PRIMARY KEY,
  locked_by TEXT,
  locked_at INTEGER,
  locked_until INTEGER,
  sequence INTEGER NOT NULL
, ttl_ms INTEGER, ttl_until INTEGER) WITHOUT ROWID;

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

-- name: migrate_3_locks
-- Version 3: how long a lease was granted or renewed for.
ALTER TABLE {locks} ADD COLUMN ttl_ms INTEGER;
ALTER TABLE {locks} ADD COLUMN ttl_until INTEGER;

-- name: jobs_schema
-- The tables of the jobs whose locks are in {locks}.  Made when jobs are first asked for: who only has leases
-- has none of them.
--
-- Times as in {locks}: *_at is the wall clock (microseconds since 1970, decides when a job is due),
-- *until is CLOCK_BOOTTIME (decides when a claim has run out).  Lengths end in their unit.

-- A job is one row: its slot, its claim and its state change in one step.
--   state        queued, running, done, dead, dropped, cancelled
--   due_at       queued: not before; run_at, or later while it is put off (it waits for its lock, or was
--                handed back)
--   most         so many of this key at once
--   slot         'loner:' and the key; NULL: it has none
--   parked       queued, and found its lock held
--   holder       who has claimed it, or had; the same name holds its lock
--   lock, token  the lease it runs under; '': none
--   claim_until  running: afterwards anybody may claim it
--   trail        what else happened to it, a line each
CREATE TABLE IF NOT EXISTS {jobs} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  queue TEXT NOT NULL,
  args TEXT NOT NULL,
  key TEXT NOT NULL,
  priority INTEGER NOT NULL,
  state TEXT NOT NULL,
  enqueued_at INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  lock_ttl_ms INTEGER NOT NULL,
  lock_fixed INTEGER NOT NULL,
  most INTEGER NOT NULL,
  on_conflict TEXT NOT NULL,
  uniqueness TEXT NOT NULL,
  slot TEXT,
  parked INTEGER NOT NULL,
  holder TEXT NOT NULL,
  lock TEXT NOT NULL,
  token INTEGER NOT NULL,
  claim_until INTEGER NOT NULL,
  error TEXT NOT NULL,
  duplicates INTEGER NOT NULL,
  trail TEXT NOT NULL
);

CREATE UNIQUE INDEX IF NOT EXISTS {jobs_slot} ON {jobs} (slot) WHERE slot IS NOT NULL;

-- Those that are due at their run_at, in the order in which they are claimed, and apart from them those that
-- are put off, which are few.  Of a priority the first entry says when its next one is due.
CREATE INDEX IF NOT EXISTS {jobs_due} ON {jobs} (queue, priority, run_at)
 WHERE state = 'queued' AND due_at = run_at;
CREATE INDEX IF NOT EXISTS {jobs_put_off} ON {jobs} (queue, priority, due_at, run_at)
 WHERE state = 'queued' AND due_at <> run_at;

CREATE INDEX IF NOT EXISTS {jobs_running} ON {jobs} (queue, claim_until) WHERE state = 'running';

-- Those that wait for a lock: in the order in which they are claimed, and by when they look again.
CREATE INDEX IF NOT EXISTS {jobs_parked} ON {jobs} (key, priority, run_at, id, due_at) WHERE parked;
CREATE INDEX IF NOT EXISTS {jobs_parked_until} ON {jobs} (key, due_at) WHERE parked;

-- For people who ask what became of a key.
CREATE INDEX IF NOT EXISTS {jobs_key} ON {jobs} (key, id);

CREATE INDEX IF NOT EXISTS {jobs_over} ON {jobs} (finished_at)
 WHERE state IN ('done', 'dropped', 'cancelled');

-- The last tick of each name.
--   job         that was enqueued for it; 0: none
--   by          who took it
--   success_at  of what runs by the clock; 0: never
--   stale_at    nobody asks for it afterwards; 0: it is kept
CREATE TABLE IF NOT EXISTS {ticks} (
  name TEXT PRIMARY KEY,
  tick INTEGER NOT NULL,
  job INTEGER NOT NULL,
  by TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  success_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS {ticks_stale} ON {ticks} (stale_at) WHERE stale_at > 0;

-- name: first_object
-- No row: the file is new.
SELECT 1 FROM {sqlite_schema};

-- name: all_objects
-- Everything that is in the file, as SQLite remembers it.
SELECT type, name, tbl_name, sql FROM {sqlite_schema};

-- name: boot
-- On which boot and in which time namespace the times in these tables were read; and where tokens start.
SELECT boot_id, time_namespace, purged_token FROM {state};

-- name: reboot
-- The machine has started anew, or the file comes from another one: whoever held or waited cannot exist any
-- more.  Tokens stay.
UPDATE {locks} SET locked_by = NULL, locked_until = boottime()
 WHERE locked_by IS NOT NULL OR locked_until > boottime();
DELETE FROM {waiters};
DELETE FROM {facts};
UPDATE {state} SET boot_id = this_boot(), time_namespace = this_time_namespace();

-- name: reboot_jobs
-- Beside `reboot`: no worker of before the machine started anew exists any more.  What it ran is claimable.
UPDATE {jobs} SET claim_until = 0 WHERE state = 'running';
