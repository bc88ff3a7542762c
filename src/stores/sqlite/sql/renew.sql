-- SPDX-License-Identifier: Apache-2.0
-- Renews what the holder has, never for less than it had.  A lease without end stays so: max() and min()
-- of NULL are NULL.
-- ?1 key  ?2 holder  ?3 token, 0: any  ?4 ttl in microseconds, NULL: without end  ?5 add ttl to what is left
-- ?6 latest end
-- told: the new end, the token
UPDATE {locks}
   SET locked_until = tell(
         CASE WHEN ?5 THEN min(locked_until + ?4, ?6) ELSE max(locked_until, boottime() + ?4) END,
         sequence)
 WHERE key = ?1
   AND locked_by = ?2
   AND (?3 = 0 OR sequence = ?3)
   AND (locked_until IS NULL OR locked_until >= boottime());
