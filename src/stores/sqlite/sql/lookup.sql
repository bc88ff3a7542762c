-- SPDX-License-Identifier: Apache-2.0
-- What is known about a key.
-- ?1 key
SELECT l.locked_by, l.locked_until, l.sequence, f.client
  FROM {locks} AS l
  LEFT JOIN {facts} AS f ON f.key = l.key AND f.token = l.sequence
 WHERE l.key = ?1;
