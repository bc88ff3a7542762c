-- SPDX-License-Identifier: Apache-2.0
-- Takes away what is known about grants of a part that are over.
-- ?1 behind this key  ?2 up to this one
DELETE FROM {facts}
 WHERE key > ?1 AND key <= ?2
   AND NOT EXISTS (SELECT 1 FROM {locks} AS l WHERE l.key = {facts}.key AND l.sequence = {facts}.token);
