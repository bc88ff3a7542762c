-- SPDX-License-Identifier: Apache-2.0
-- Takes away the keys of a part that have been free so long.  Not one whose last token is ahead of the wall
-- clock: all new keys would have to start behind it (note_purged.sql, which has the same conditions).
-- ?1 behind this key  ?2 up to this one  ?3 free for so many microseconds
DELETE FROM {locks}
 WHERE key > ?1 AND key <= ?2
   AND locked_until <= boottime() - ?3
   AND (locked_by IS NULL OR locked_until < boottime())
   AND sequence < walltime()
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.key = {locks}.key);
