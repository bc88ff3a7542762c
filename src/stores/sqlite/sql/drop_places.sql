-- SPDX-License-Identifier: Apache-2.0
-- Takes away the places that have run out, so that coming back late means queueing again.
-- ?1 key
DELETE FROM {waiters} WHERE key = ?1 AND until <= boottime();
