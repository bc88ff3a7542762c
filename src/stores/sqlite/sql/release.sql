-- SPDX-License-Identifier: Apache-2.0
-- Frees what the holder has; the row stays.
-- ?1 key  ?2 holder  ?3 token, 0: any  ?4 client
-- told: the token, whether somebody waits, whether ?4's death would have ended the lease
UPDATE {locks}
   SET locked_by = NULL,
       locked_until = boottime(),
       sequence = tell(
         sequence,
         EXISTS (SELECT 1 FROM {waiters} WHERE key = ?1),
         EXISTS (SELECT 1 FROM {facts} AS f WHERE f.key = ?1 AND f.token = sequence AND f.client = ?4))
 WHERE key = ?1
   AND locked_by = ?2
   AND (?3 = 0 OR sequence = ?3)
   AND (locked_until IS NULL OR locked_until >= boottime());
