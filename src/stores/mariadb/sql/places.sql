-- SPDX-License-Identifier: Apache-2.0
-- Live places for people, first in the queue first.
SELECT w.`key`, w.client, w.waiter, {us(w.until)}, {now_us}
  FROM {waiters} AS w
 WHERE {wanted} AND {bytes(w.`key`)} > {after} AND w.until > {now}
 ORDER BY {bytes(w.`key`)}, w.ticket, w.client
 LIMIT {limit};
