-- SPDX-License-Identifier: Apache-2.0
-- Whether a client that died may still be named anywhere.  Says yes without looking when the table is large.
-- ?1 client
SELECT (SELECT count(*) FROM (SELECT 1 FROM {locks} LIMIT 5000)) = 5000
    OR EXISTS (SELECT 1 FROM {locks}
                WHERE instr(locked_by, 'guid:' || ?1) AND (locked_until IS NULL OR locked_until >= boottime()))
    OR EXISTS (SELECT 1 FROM {facts} WHERE client = ?1)
    OR EXISTS (SELECT 1 FROM {waiters} WHERE client = ?1);
