-- SPDX-License-Identifier: Apache-2.0
-- ?1 id
DELETE FROM {jobs} WHERE id = ?1;
