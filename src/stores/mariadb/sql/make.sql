-- SPDX-License-Identifier: Apache-2.0
-- The same for a key that has no row yet.  Somebody else may make it first: 1062.
INSERT INTO {locks} (`key`, locked_by, locked_at, locked_until, sequence)
SELECT {key}, {holder}, {clock}, {clock} + INTERVAL {ttl} MICROSECOND,
       LAST_INSERT_ID(GREATEST((SELECT purged_token FROM {state}) + 1, {clock_us}))
  FROM DUAL
 WHERE NOT EXISTS (SELECT 1 FROM {locks} AS l WHERE l.`key` = {key})
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.`key` = {key})
   AND {clock_us} <= {void_after};
