-- SPDX-License-Identifier: Apache-2.0
-- All live places from one key on, first in the queue first.
-- ?1 first key  ?2 behind this key
SELECT key, client, waiter, until
  FROM {waiters}
 WHERE key >= ?1 AND key > ?2 AND until > boottime()
 ORDER BY key, ticket;
