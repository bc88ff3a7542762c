-- SPDX-License-Identifier: Apache-2.0
-- Those of a priority that were put off and are due now.
-- ?1 queue  ?2 priority  ?3 wall clock
SELECT priority, run_at, id
  FROM {jobs}
 WHERE state = 'queued' AND due_at <> run_at AND queue = ?1 AND priority = ?2 AND due_at <= ?3
 ORDER BY due_at, run_at, id;
