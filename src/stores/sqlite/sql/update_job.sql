-- SPDX-License-Identifier: Apache-2.0
-- All that can change.
-- ?1 id  ?2 args  ?3 priority  ?4 state  ?5 run_at  ?6 due_at  ?7 started_at  ?8 finished_at  ?9 attempt
-- ?10 crashes  ?11 slot, NULL: none  ?12 parked  ?13 holder  ?14 lock  ?15 token  ?16 claim_until  ?17 error
-- ?18 duplicates  ?19 trail  ?20 max_attempts
UPDATE {jobs}
   SET args = ?2,
       priority = ?3,
       state = ?4,
       run_at = ?5,
       due_at = ?6,
       started_at = ?7,
       finished_at = ?8,
       attempt = ?9,
       crashes = ?10,
       slot = ?11,
       parked = ?12,
       holder = ?13,
       lock = ?14,
       token = ?15,
       claim_until = ?16,
       error = ?17,
       duplicates = ?18,
       trail = ?19,
       max_attempts = ?20
 WHERE id = ?1;
