-- SPDX-License-Identifier: Apache-2.0
-- Gives the key away, whatever the row says: the decision was made in the same transaction.
-- ?1 key  ?2 holder  ?3 end, NULL: without  ?4 token
INSERT INTO {locks} (key, locked_by, locked_at, locked_until, sequence)
VALUES (?1, ?2, walltime(), ?3, ?4)
ON CONFLICT (key) DO UPDATE
   SET locked_by = excluded.locked_by,
       locked_at = excluded.locked_at,
       locked_until = excluded.locked_until,
       sequence = excluded.sequence;
