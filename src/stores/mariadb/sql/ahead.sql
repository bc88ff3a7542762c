-- SPDX-License-Identifier: Apache-2.0
-- How many live places are before ours.
(SELECT COUNT(*)
   FROM {waiters} AS w
  WHERE w.`key` = {key} AND w.until > {now}
    AND NOT EXISTS (SELECT 1 FROM {waiters} AS o
                     WHERE o.`key` = {key} AND o.client = {client} AND o.until > {now} AND o.ticket <= w.ticket))
