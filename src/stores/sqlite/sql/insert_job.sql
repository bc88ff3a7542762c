-- SPDX-License-Identifier: Apache-2.0
-- What it may have been given by enqueue(); the rest is as of a job that nothing has happened to.
-- ?1 name  ?2 queue  ?3 args  ?4 key  ?5 priority  ?6 enqueued_at  ?7 run_at  ?8 max_attempts
-- ?9 lock_ttl_ms  ?10 lock_fixed  ?11 most  ?12 on_conflict  ?13 uniqueness  ?14 slot, NULL: none
INSERT INTO {jobs} (name, queue, args, key, priority, state, enqueued_at, run_at, due_at, started_at,
                    finished_at, attempt, crashes, max_attempts, lock_ttl_ms, lock_fixed, most, on_conflict,
                    uniqueness, slot, parked, holder, lock, token, claim_until, error, duplicates, trail)
VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7, ?7, 0, 0, 0, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, '', '', 0, 0,
        '', 0, '');
