-- SPDX-License-Identifier: Apache-2.0
-- For people, those of one key, the newest first.
-- ?1 first id  ?2 last id  ?3 key  ?4 name  ?5 queue  ?6 state ('': any)  ?7 at most so many
SELECT id
  FROM {jobs}
 WHERE key = ?3
   AND id BETWEEN ?1 AND ?2
   AND (?4 = '' OR name = ?4)
   AND (?5 = '' OR queue = ?5)
   AND (?6 = '' OR state = ?6)
 ORDER BY id DESC
 LIMIT ?7;
