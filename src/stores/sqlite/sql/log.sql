-- SPDX-License-Identifier: Apache-2.0
-- ?1 key  ?2 event  ?3 who lost it  ?4 the token that was lost  ?5 who has it now, or broke it  ?6 reason
INSERT INTO {log} (at, key, event, holder, token, by, reason)
VALUES (walltime(), ?1, ?2, ?3, ?4, ?5, ?6);
