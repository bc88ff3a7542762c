-- SPDX-License-Identifier: Apache-2.0
-- One release (release_rule.sql).  No row: it is lost, or its row was changed since our snapshot, by a renewal or by
-- whoever took a place (touched in rule_settle.sql), whom we would not ring: ask apply.sql.
-- $1 key  $2 holder  $3 token, 0: any  $4 wait for a locked row at most so many milliseconds
{release};
