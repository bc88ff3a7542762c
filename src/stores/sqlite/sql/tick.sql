-- SPDX-License-Identifier: Apache-2.0
-- ?1 name
SELECT tick, job, by, taken_at, success_at, stale_at FROM {ticks} WHERE name = ?1;
