-- SPDX-License-Identifier: Apache-2.0
-- Those that wait for the lock of a key, in the order in which they are claimed.
-- ?1 key
SELECT id, due_at FROM {jobs} WHERE parked AND key = ?1 ORDER BY priority, run_at, id;
