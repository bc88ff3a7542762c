-- SPDX-License-Identifier: Apache-2.0
-- What is special about a grant.
-- ?1 key  ?2 token  ?3 client  ?4 detached  ?5 note
INSERT INTO {facts} (key, token, client, detached, note)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key) DO UPDATE
   SET token = excluded.token,
       client = excluded.client,
       detached = excluded.detached,
       note = excluded.note;
