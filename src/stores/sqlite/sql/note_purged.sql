-- SPDX-License-Identifier: Apache-2.0
-- Remembers the largest token that purge_keys.sql is about to take away.
-- ?1 behind this key  ?2 up to this one  ?3 free for so many microseconds
UPDATE {state}
   SET purged_token = max(
         purged_token,
         coalesce(
           (SELECT max(sequence)
              FROM {locks}
             WHERE key > ?1 AND key <= ?2
               AND locked_until <= boottime() - ?3
               AND (locked_by IS NULL OR locked_until < boottime())
               AND sequence < walltime()
               AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.key = {locks}.key)),
           0));
