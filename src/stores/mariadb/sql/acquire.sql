-- SPDX-License-Identifier: Apache-2.0
-- One acquire in one text: nobody has the key and nobody waits for it, or it is the holder's already.
-- SET goes from left to right, and LAST_INSERT_ID(token) hands the token back with the count of rows.
UPDATE {locks}
   SET locked_at = IF(locked_by IS NULL, {clock}, locked_at),
       locked_until = IF(locked_by IS NULL, {clock} + INTERVAL {ttl} MICROSECOND,
                         GREATEST(locked_until, {clock} + INTERVAL {ttl} MICROSECOND)),
       sequence = LAST_INSERT_ID(IF(locked_by IS NOT NULL, sequence,
                    GREATEST(COALESCE(NULLIF(sequence, 0), (SELECT purged_token FROM {state})) + 1, {clock_us}))),
       locked_by = {holder}
 WHERE `key` = {key}
   AND IF(locked_by IS NULL, NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = {key}),
          locked_by = {holder} AND COALESCE(locked_until >= {clock}, TRUE))
   AND {clock_us} <= {void_after};
