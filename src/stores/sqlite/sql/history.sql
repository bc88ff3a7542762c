-- SPDX-License-Identifier: Apache-2.0
-- What was written down, newest first.
SELECT at, key, event, holder, token, by, reason FROM {log} ORDER BY rowid DESC;
