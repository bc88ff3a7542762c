-- SPDX-License-Identifier: Apache-2.0
-- Every statement on the tables of jobs and ticks.  None of them reads a whole table or sorts: each finds its
-- rows in an index of `jobs_schema` (schema.sql).
--
-- {jobs} and {ticks} are replaced by names that are made from that of the lock table (tables.h).  Clocks are
-- arguments, in microseconds: the connection may be a caller's own (enqueuer.cpp), without functions of ours.

-- name: job_by_id
-- A job, in the order of core/job_fields.h.
-- ?1 id
SELECT id, name, queue, args, key, priority, enqueued_at, max_attempts, lock_ttl_ms, lock_fixed, most,
       on_conflict, uniqueness, state, run_at, due_at, started_at, finished_at, attempt, crashes,
       slot IS NOT NULL, parked, holder, lock, token, claim_until, error, duplicates, trail
  FROM {jobs}
 WHERE id = ?1;

-- name: job_in_slot
-- ?1 slot
SELECT id FROM {jobs} WHERE slot = ?1;

-- name: first_due
-- Of the next priority that has any: the first to be claimed, when its time has come.
-- ?1 queue  ?2 behind this priority
SELECT priority, run_at, id
  FROM {jobs}
 WHERE state = 'queued' AND due_at = run_at AND queue = ?1 AND priority > ?2
 ORDER BY priority, run_at, id
 LIMIT 1;

-- name: first_put_off
-- Of the next priority that has any: the one that is due first of those that were put off.
-- ?1 queue  ?2 behind this priority
SELECT priority, due_at, id
  FROM {jobs}
 WHERE state = 'queued' AND due_at <> run_at AND queue = ?1 AND priority > ?2
 ORDER BY priority, due_at, run_at, id
 LIMIT 1;

-- name: put_off_and_due
-- Those of a priority that were put off and are due now.
-- ?1 queue  ?2 priority  ?3 wall clock
SELECT priority, run_at, id
  FROM {jobs}
 WHERE state = 'queued' AND due_at <> run_at AND queue = ?1 AND priority = ?2 AND due_at <= ?3
 ORDER BY due_at, run_at, id;

-- name: first_claim_end
-- The job that runs whose claim runs out first.
-- ?1 queue
SELECT claim_until, id FROM {jobs} WHERE state = 'running' AND queue = ?1 ORDER BY claim_until, id LIMIT 1;

-- name: parked_in_turn
-- Those that wait for the lock of a key, in the order in which they are claimed.
-- ?1 key
SELECT id, due_at FROM {jobs} WHERE parked AND key = ?1 ORDER BY priority, run_at, id;

-- name: first_parked_until
-- Of those that wait for the lock of a key and are not due by themselves, the one that will be first.
-- ?1 key  ?2 wall clock
SELECT id FROM {jobs} WHERE parked AND key = ?1 AND due_at > ?2 ORDER BY due_at, id LIMIT 1;

-- name: insert_job
-- What it may have been given by enqueue(); the rest is as of a job that nothing has happened to.
-- ?1 name  ?2 queue  ?3 args  ?4 key  ?5 priority  ?6 enqueued_at  ?7 run_at  ?8 max_attempts
-- ?9 lock_ttl_ms  ?10 lock_fixed  ?11 most  ?12 on_conflict  ?13 uniqueness  ?14 slot, NULL: none
INSERT INTO {jobs} (name, queue, args, key, priority, state, enqueued_at, run_at, due_at, started_at,
                    finished_at, attempt, crashes, max_attempts, lock_ttl_ms, lock_fixed, most, on_conflict,
                    uniqueness, slot, parked, holder, lock, token, claim_until, error, duplicates, trail)
VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7, ?7, 0, 0, 0, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, '', '', 0, 0,
        '', 0, '');

-- name: update_job
-- All that can change.
-- ?1 id  ?2 args  ?3 priority  ?4 state  ?5 run_at  ?6 due_at  ?7 started_at  ?8 finished_at  ?9 attempt
-- ?10 crashes  ?11 slot, NULL: none  ?12 parked  ?13 holder  ?14 lock  ?15 token  ?16 claim_until  ?17 error
-- ?18 duplicates  ?19 trail  ?20 max_attempts
UPDATE {jobs}
   SET args = ?2,
       priority = ?3,
       state = ?4,
       run_at = ?5,
       due_at = ?6,
       started_at = ?7,
       finished_at = ?8,
       attempt = ?9,
       crashes = ?10,
       slot = ?11,
       parked = ?12,
       holder = ?13,
       lock = ?14,
       token = ?15,
       claim_until = ?16,
       error = ?17,
       duplicates = ?18,
       trail = ?19,
       max_attempts = ?20
 WHERE id = ?1;

-- name: delete_job
-- ?1 id
DELETE FROM {jobs} WHERE id = ?1;

-- name: find_jobs
-- For people, the newest first.
-- ?1 first id  ?2 last id  ?3 key  ?4 name  ?5 queue  ?6 state ('': any)  ?7 at most so many
SELECT id
  FROM {jobs}
 WHERE id BETWEEN ?1 AND ?2
   AND (?3 = '' OR key = ?3)
   AND (?4 = '' OR name = ?4)
   AND (?5 = '' OR queue = ?5)
   AND (?6 = '' OR state = ?6)
 ORDER BY id DESC
 LIMIT ?7;

-- name: find_jobs_of_key
-- For people, those of one key, the newest first.
-- ?1 first id  ?2 last id  ?3 key  ?4 name  ?5 queue  ?6 state ('': any)  ?7 at most so many
SELECT id
  FROM {jobs}
 WHERE key = ?3
   AND id BETWEEN ?1 AND ?2
   AND (?4 = '' OR name = ?4)
   AND (?5 = '' OR queue = ?5)
   AND (?6 = '' OR state = ?6)
 ORDER BY id DESC
 LIMIT ?7;

-- name: purge_jobs
-- Takes away those that are over and that nobody has to look at, the oldest first.
-- ?1 finished at the latest then  ?2 at most so many
DELETE FROM {jobs}
 WHERE id IN (SELECT id
                FROM {jobs}
               WHERE state IN ('done', 'dropped', 'cancelled') AND finished_at <= ?1
               ORDER BY finished_at, id
               LIMIT ?2);

-- name: tick_by_name
-- ?1 name
SELECT tick, job, by, taken_at, success_at, stale_at FROM {ticks} WHERE name = ?1;

-- name: put_tick
-- ?1 name  ?2 tick  ?3 job  ?4 by  ?5 taken_at  ?6 success_at  ?7 stale_at
INSERT INTO {ticks} (name, tick, job, by, taken_at, success_at, stale_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE
   SET tick = excluded.tick,
       job = excluded.job,
       by = excluded.by,
       taken_at = excluded.taken_at,
       success_at = excluded.success_at,
       stale_at = excluded.stale_at;

-- name: purge_ticks
-- Takes away the ticks of windows that are over: as many as others can wait for.
-- ?1 wall clock
DELETE FROM {ticks}
 WHERE name IN (SELECT name
                  FROM {ticks}
                 WHERE stale_at > 0 AND stale_at <= ?1
                 ORDER BY stale_at
                 LIMIT 10000);

-- name: begin_enqueue
-- A part of the caller's transaction: it can be undone without the rest.
SAVEPOINT holdfast_enqueue;

-- name: take_write_lock
-- Takes the write lock of the caller's transaction and changes nothing.
DELETE FROM {jobs} WHERE id < 0;

-- name: undo_enqueue
ROLLBACK TO holdfast_enqueue;

-- name: end_enqueue
-- What was not undone is committed when the caller commits.
RELEASE holdfast_enqueue;
