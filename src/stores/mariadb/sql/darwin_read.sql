-- SPDX-License-Identifier: Apache-2.0
-- What Darwin's nodes see of a lock.  Its times are in the zone of the session, as theirs are.
SELECT unlockKey, TIMESTAMPDIFF(MICROSECOND, NOW(6), leaseUntil) FROM {darwin} WHERE processName = {keys} FOR UPDATE;
