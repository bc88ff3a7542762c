-- SPDX-License-Identifier: Apache-2.0
-- Takes the write lock and changes nothing.
DELETE FROM {jobs} WHERE id < 0;
