-- SPDX-License-Identifier: Apache-2.0
-- The ordinary acquire, in one step: nobody has the key and nobody waits for it.  Nothing is changed when
-- that is not so, or when the caller's time is over.
-- ?1 key  ?2 holder  ?3 ttl in microseconds, NULL: without end
-- told: the token
INSERT INTO {locks} (key, locked_by, locked_at, locked_until, sequence)
SELECT ?1, ?2, walltime(), boottime() + ?3, tell(max(walltime(), (SELECT purged_token + 1 FROM {state})))
 WHERE in_time()
   AND NOT EXISTS (SELECT 1 FROM {waiters} WHERE key = ?1)
ON CONFLICT (key) DO UPDATE
   SET locked_by = excluded.locked_by,
       locked_at = excluded.locked_at,
       locked_until = excluded.locked_until,
       sequence = tell(max(sequence + 1, walltime()))
 WHERE locked_by IS NULL
   AND sequence BETWEEN 0 AND 9223372036854775806;
