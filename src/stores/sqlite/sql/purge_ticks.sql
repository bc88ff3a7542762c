-- SPDX-License-Identifier: Apache-2.0
-- Takes away the ticks of windows that are over: as many as others can wait for.
-- ?1 wall clock
DELETE FROM {ticks}
 WHERE name IN (SELECT name
                  FROM {ticks}
                 WHERE stale_at > 0 AND stale_at <= ?1
                 ORDER BY stale_at
                 LIMIT 10000);
