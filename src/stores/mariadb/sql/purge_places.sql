-- SPDX-License-Identifier: Apache-2.0
-- Places that have run out; one that somebody has locked just now stays.
SET wait_timeout = 5;
START TRANSACTION;
SELECT `key`, client FROM {waiters} WHERE until <= {now} LIMIT {many} FOR UPDATE SKIP LOCKED;
