-- SPDX-License-Identifier: Apache-2.0
-- Queues at the end, or refreshes the place where it is.
-- ?1 key  ?2 client  ?3 until
INSERT INTO {waiters} (key, client, ticket, until)
SELECT ?1, ?2, coalesce((SELECT max(ticket) FROM {waiters} WHERE key = ?1), 0) + 1, ?3
 WHERE true
ON CONFLICT (key, client) DO UPDATE SET until = excluded.until;
