-- SPDX-License-Identifier: Apache-2.0
-- The holder acquires what it has: same token, new end.
-- ?1 key  ?2 end, NULL: without
UPDATE {locks} SET locked_until = ?2 WHERE key = ?1;
