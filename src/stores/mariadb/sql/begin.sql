-- SPDX-License-Identifier: Apache-2.0
-- The begin of a transaction.  Whoever stops in the middle of it is thrown out soon, so that nobody waits for the rows
-- for long.
SET wait_timeout = 2;
START TRANSACTION;
