-- SPDX-License-Identifier: Apache-2.0
-- From now on that client's death ends the grant; the rest of what is known about it stays.
-- ?1 key  ?2 token  ?3 client, '': nobody's death does
INSERT INTO {facts} (key, token, client, detached, note)
VALUES (?1, ?2, ?3, 0, '')
ON CONFLICT (key) DO UPDATE
   SET client = excluded.client,
       detached = CASE token WHEN excluded.token THEN detached ELSE 0 END,
       note = CASE token WHEN excluded.token THEN note ELSE '' END,
       token = excluded.token;
