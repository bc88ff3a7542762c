-- SPDX-License-Identifier: Apache-2.0
-- Jobs of a queue whose time has come since they were set aside.  Whoever finds some puts them among those that are
-- ready, so each is read here once.
SELECT id
  FROM {jobs} FORCE INDEX (aside)
 WHERE queue = {queue} AND aside_until <= {wall}
 ORDER BY aside_until
 LIMIT {many}
   FOR UPDATE SKIP LOCKED;
