-- SPDX-License-Identifier: Apache-2.0
-- The tables of the jobs whose locks are in {locks}.  Made when jobs are first asked for: who only has leases
-- has none of them.
--
-- Times as in schema.sql: *_at is the wall clock (microseconds since 1970, decides when a job is due),
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
