-- SPDX-License-Identifier: Apache-2.0
-- Takes away the places of a part that have run out.
-- ?1 behind this key  ?2 up to this one
DELETE FROM {waiters} WHERE key > ?1 AND key <= ?2 AND until <= boottime();
