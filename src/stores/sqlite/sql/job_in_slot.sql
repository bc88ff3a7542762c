-- SPDX-License-Identifier: Apache-2.0
-- ?1 slot
SELECT id FROM {jobs} WHERE slot = ?1;
