-- SPDX-License-Identifier: Apache-2.0
-- Queues at the end, or refreshes the place where it is.
-- ?1 key  ?2 client  ?3 who would hold it  ?4 until
INSERT INTO {waiters} (key, client, waiter, ticket, until)
SELECT ?1, ?2, ?3, coalesce((SELECT max(ticket) FROM {waiters} WHERE key = ?1), 0) + 1, ?4
 WHERE true
ON CONFLICT (key, client) DO UPDATE SET waiter = excluded.waiter, until = excluded.until;
