-- SPDX-License-Identifier: Apache-2.0
-- Frees the key, whoever holds it: the decision was made in the same transaction.
-- ?1 key
UPDATE {locks} SET locked_by = NULL, locked_until = boottime() WHERE key = ?1;
