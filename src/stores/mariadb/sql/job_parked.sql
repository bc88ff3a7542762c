-- SPDX-License-Identifier: Apache-2.0
-- The first of the jobs that wait for the lock of a key.  One that somebody has locked is waited for: to skip it would
-- be to forget it.
SELECT {columns}
  FROM {jobs} FORCE INDEX (waiting)
 WHERE waits_for = {key} AND aside_until > {wall}
 ORDER BY priority, run_at, id
 LIMIT 1
   FOR UPDATE;
