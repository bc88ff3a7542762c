-- SPDX-License-Identifier: Apache-2.0
-- Of those that wait for the lock of a key and are not due by themselves, the one that will be first.
-- ?1 key  ?2 wall clock
SELECT id FROM {jobs} WHERE parked AND key = ?1 AND due_at > ?2 ORDER BY due_at, id LIMIT 1;
