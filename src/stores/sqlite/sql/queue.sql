-- SPDX-License-Identifier: Apache-2.0
-- Everybody who waits for a key, first come first.
-- ?1 key
SELECT client, until FROM {waiters} WHERE key = ?1 ORDER BY ticket;
