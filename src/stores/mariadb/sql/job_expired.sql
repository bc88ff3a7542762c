-- SPDX-License-Identifier: Apache-2.0
-- A job of a queue whose worker was not heard of again.
SELECT {columns}
  FROM {jobs} FORCE INDEX (claimed)
 WHERE queue = {queue} AND claim_until <= {moment}
 ORDER BY claim_until
 LIMIT 1
   FOR UPDATE SKIP LOCKED;
