-- SPDX-License-Identifier: Apache-2.0
-- All keys from one on, for people.
-- ?1 first key  ?2 behind this key  ?3 also those that were given back and that nobody waits for
SELECT l.key, l.locked_by, l.locked_until, l.sequence, f.client, l.locked_at, f.note, f.detached,
       (SELECT count(*) FROM {waiters} AS w WHERE w.key = l.key AND w.until > boottime()) AS waiting
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key AND f.token = l.sequence
 WHERE l.key >= ?1 AND l.key > ?2
   AND (?3 OR l.locked_by IS NOT NULL OR l.key IN (SELECT w.key FROM {waiters} AS w WHERE w.until > boottime()))
 ORDER BY l.key;
