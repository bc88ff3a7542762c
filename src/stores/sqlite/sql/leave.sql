-- SPDX-License-Identifier: Apache-2.0
-- ?1 key  ?2 client
DELETE FROM {waiters} WHERE key = ?1 AND client = ?2;
