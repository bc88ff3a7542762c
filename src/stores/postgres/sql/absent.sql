-- SPDX-License-Identifier: Apache-2.0
-- Is a key really absent?  An acquire that was given up may have made its row and not be committed yet: nobody sees
-- it, but whoever makes the same row has to wait for it.  So a free one is made, to be purged like any other.
-- A row: the key was absent.  None: it is there by now, ask again.
-- $1 key  $2 wait for a row that is being made at most so many milliseconds
INSERT INTO {locks} (key, locked_until, sequence)
SELECT $1::text, {now}, 0
 WHERE set_config('lock_timeout', $2::bigint::text, true) IS NOT NULL
ON CONFLICT (key) DO NOTHING
RETURNING 1;
