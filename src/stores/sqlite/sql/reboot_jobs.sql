-- SPDX-License-Identifier: Apache-2.0
-- Beside reboot.sql: no worker of before the machine started anew exists any more.  What it ran is claimable.
UPDATE {jobs} SET claim_until = 0 WHERE state = 'running';
