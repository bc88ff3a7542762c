-- SPDX-License-Identifier: Apache-2.0
-- The machine has started anew, or the file comes from another one: whoever held or waited cannot exist any
-- more.  Tokens stay.
UPDATE {locks} SET locked_by = NULL, locked_until = boottime()
 WHERE locked_by IS NOT NULL OR locked_until > boottime();
DELETE FROM {waiters};
DELETE FROM {facts};
UPDATE {state} SET boot_id = this_boot(), time_namespace = this_time_namespace();
