-- SPDX-License-Identifier: Apache-2.0
-- The first job of a queue whose time has come, and that nobody else is about to claim: the first entry of its index.
SELECT {columns}
  FROM {jobs} FORCE INDEX (ready)
 WHERE queue = {queue} AND ready_priority IS NOT NULL
 ORDER BY ready_priority, run_at, id
 LIMIT 1
   FOR UPDATE SKIP LOCKED;
