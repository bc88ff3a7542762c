-- SPDX-License-Identifier: Apache-2.0
-- One release: the row stays, and says since when it is free.
UPDATE {locks}
   SET locked_by = NULL, locked_until = {clock}, sequence = LAST_INSERT_ID(sequence)
 WHERE `key` = {key} AND locked_by = {holder} AND {token} IN (0, sequence)
   AND COALESCE(locked_until >= {clock}, TRUE);
