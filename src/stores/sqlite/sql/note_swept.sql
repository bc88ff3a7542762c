-- SPDX-License-Identifier: Apache-2.0
-- It always writes: the first to write after a checkpoint starts the log anew.
-- ?1 the last key of the part, '': the table's end was reached
UPDATE {state} SET swept_to = ?1, swept_at = walltime();
