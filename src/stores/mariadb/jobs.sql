-- SPDX-License-Identifier: Apache-2.0
-- The statements of jobs and ticks; leases.sql says what the braces mean. Besides:
--   {moment}      the time of the transaction, as a DATETIME
--   {for_update}  FOR UPDATE in a transaction that writes, else nothing

-- part: job_columns
-- In the order of core/job_fields.h.
       id, name, queue, args, `key`, priority, {us(enqueued_at)}, max_attempts, lock_ttl_ms, lock_fixed, lock_limit,
       on_conflict, uniqueness, state, {us(run_at)}, {us(due_at)}, {us(started_at)}, {us(finished_at)}, attempt, crashes,
       slot IS NOT NULL, parked, holder, lock_key, lock_token, {us(claim_until)}, error, duplicates, trail

-- name: read_clock
SELECT {now_us};

-- name: job_by_id
SELECT
-- include: job_columns
  FROM {jobs} WHERE id = {id} {for_update};

-- name: job_in_slot
SELECT
-- include: job_columns
  FROM {jobs} WHERE slot = {slot} {for_update};

-- name: find_jobs
-- For people, the newest first. A value that is empty or 0 does not restrict.
SELECT
-- include: job_columns
  FROM {jobs}
 WHERE ({id} = 0 OR id = {id}) AND ({before} = 0 OR id < {before})
   AND ({key} = '' OR `key` = {key}) AND ({name} = '' OR name = {name})
   AND ({queue} = '' OR queue = {queue}) AND ({job_state} = '' OR state = {job_state})
 ORDER BY id DESC
 LIMIT {limit};

-- name: lock_claims
-- Running jobs, without those that another transaction has locked.
SELECT id, holder FROM {jobs} WHERE id IN ({ids}) AND state = 'running' ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: read_claims
-- The same with those, as they were committed.
SELECT id, holder FROM {jobs} WHERE id IN ({ids}) AND state = 'running';

-- name: lock_claim
-- One of those, in its turn after the transactions that have it locked or wait for it already.
{patience}SELECT holder FROM {jobs} WHERE id = {id} AND state = 'running' FOR UPDATE;

-- name: prolong_claim
UPDATE {jobs} SET claim_until = GREATEST(claim_until, {moment}) WHERE id = {id};

-- name: expired_job
-- A job of a queue whose worker has not renewed its claim.
SELECT
-- include: job_columns
  FROM {jobs} FORCE INDEX (claimed)
 WHERE queue = {queue} AND claim_until <= {moment}
 ORDER BY claim_until
 LIMIT 1
   FOR UPDATE SKIP LOCKED;

-- name: jobs_become_due
-- Jobs of a queue that were not due when they were written, and are now. The claim that finds them moves them to the ready
-- ones, so each is read here once.
SELECT id
  FROM {jobs} FORCE INDEX (aside)
 WHERE queue = {queue} AND aside_until <= {moment}
 ORDER BY aside_until
 LIMIT {limit}
   FOR UPDATE SKIP LOCKED;

-- name: ready_job
-- The first due job of a queue that no other transaction is claiming: the first entry of its index.
SELECT
-- include: job_columns
  FROM {jobs} FORCE INDEX (ready)
 WHERE queue = {queue} AND ready_priority IS NOT NULL
 ORDER BY ready_priority, run_at, id
 LIMIT 1
   FOR UPDATE SKIP LOCKED;

-- name: queue_times
-- For a claim that finds nothing: whether a job of the queue is due, when the next one is due, and when the next claim ends.
SELECT EXISTS (SELECT 1 FROM {jobs} FORCE INDEX (ready) WHERE queue = {queue} AND ready_priority IS NOT NULL),
       (SELECT {us(MIN(aside_until))} FROM {jobs} FORCE INDEX (aside) WHERE queue = {queue}),
       (SELECT {us(MIN(claim_until))} FROM {jobs} FORCE INDEX (claimed) WHERE queue = {queue});

-- name: parked_job
-- The first of the jobs that wait for the lock of a key. If another transaction has locked it, this waits: a job that was
-- skipped would be forgotten.
SELECT
-- include: job_columns
  FROM {jobs} FORCE INDEX (waiting)
 WHERE waits_for = {key} AND aside_until > {moment}
 ORDER BY priority, run_at, id
 LIMIT 1
   FOR UPDATE;

-- name: make_jobs_ready
UPDATE {jobs} FORCE INDEX (PRIMARY)
   SET ready_priority = priority, aside_until = NULL, waits_for = NULL
 WHERE id IN ({ids});

-- name: insert_job
INSERT INTO {jobs} SET {columns_and_values};

-- name: update_job
UPDATE {jobs} SET {columns_and_values} WHERE id = {id};

-- name: finished_jobs
SELECT id
  FROM {jobs} FORCE INDEX (over_at)
 WHERE over_at <= {moment}
 ORDER BY over_at
 LIMIT {limit}
   FOR UPDATE SKIP LOCKED;

-- name: delete_jobs
DELETE FROM {jobs} WHERE id IN ({ids});

-- name: read_tick
SELECT tick, job, taken_by, {us(taken_at)}, {us(success_at)}, {us(until)} FROM {ticks} WHERE name = {name} {for_update};

-- name: insert_tick
-- A row to lock: of two clients that take the first tick of a name, the second waits for the first.
INSERT INTO {ticks} (name, until) VALUES ({name}, '1970-01-01') ON DUPLICATE KEY UPDATE job = job;

-- name: write_tick
INSERT INTO {ticks}
   SET name = {name}, tick = {tick}, job = {job}, taken_by = {taken_by}, taken_at = {taken_at}, success_at = {success_at},
       until = {until}
    ON DUPLICATE KEY UPDATE tick = {tick}, job = {job}, taken_by = {taken_by}, taken_at = {taken_at},
       success_at = {success_at}, until = {until};

-- name: delete_ticks
DELETE FROM {ticks} WHERE until <= {moment} ORDER BY until LIMIT {limit};
