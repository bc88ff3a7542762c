-- SPDX-License-Identifier: Apache-2.0
-- Of the next priority that has any: the first to be claimed, when its time has come.
-- ?1 queue  ?2 behind this priority
SELECT priority, run_at, id
  FROM {jobs}
 WHERE state = 'queued' AND due_at = run_at AND queue = ?1 AND priority > ?2
 ORDER BY priority, run_at, id
 LIMIT 1;
