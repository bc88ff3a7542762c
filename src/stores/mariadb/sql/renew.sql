-- SPDX-License-Identifier: Apache-2.0
-- One renewal: never for less than the lease had.  One without end stays so.
UPDATE {locks}
   SET locked_until = GREATEST(locked_until, LEAST({start} + INTERVAL {ttl} MICROSECOND, {last_day})),
       sequence = LAST_INSERT_ID(sequence)
 WHERE `key` = {key} AND locked_by = {holder} AND {token} IN (0, sequence)
   AND COALESCE(locked_until >= {clock}, TRUE);
