-- SPDX-License-Identifier: Apache-2.0
-- ?1 name  ?2 tick  ?3 job  ?4 by  ?5 taken_at  ?6 success_at  ?7 stale_at
INSERT INTO {ticks} (name, tick, job, by, taken_at, success_at, stale_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE
   SET tick = excluded.tick,
       job = excluded.job,
       by = excluded.by,
       taken_at = excluded.taken_at,
       success_at = excluded.success_at,
       stale_at = excluded.stale_at;
