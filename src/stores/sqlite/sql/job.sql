-- SPDX-License-Identifier: Apache-2.0
-- ?1 id
SELECT id, name, queue, args, key, priority, state, enqueued_at, run_at, due_at, started_at, finished_at,
       attempt, crashes, max_attempts, lock_ttl_ms, lock_fixed, most, on_conflict, uniqueness,
       slot IS NOT NULL, parked, holder, lock, token, claim_until, error, duplicates, trail
  FROM {jobs}
 WHERE id = ?1;
