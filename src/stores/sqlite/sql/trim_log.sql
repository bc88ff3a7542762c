-- SPDX-License-Identifier: Apache-2.0
-- Keeps the last 10,000 of what was written down.
DELETE FROM {log} WHERE rowid <= (SELECT max(rowid) FROM {log}) - 10000;
