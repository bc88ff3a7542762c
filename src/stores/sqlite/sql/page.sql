-- SPDX-License-Identifier: Apache-2.0
-- The last key of the next part of the table; no row: the rest is shorter than that.
-- ?1 behind this key
SELECT key FROM {locks} WHERE key > ?1 ORDER BY key LIMIT 1 OFFSET 499;
