-- SPDX-License-Identifier: Apache-2.0
-- Takes away those that are over and that nobody has to look at, the oldest first.
-- ?1 finished at the latest then  ?2 at most so many
DELETE FROM {jobs}
 WHERE id IN (SELECT id
                FROM {jobs}
               WHERE state IN ('done', 'dropped', 'cancelled') AND finished_at <= ?1
               ORDER BY finished_at, id
               LIMIT ?2);
