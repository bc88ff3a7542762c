-- SPDX-License-Identifier: Apache-2.0
-- One release (release_rule.sql).  No row: it is lost.
-- $1 key  $2 holder  $3 token, 0: any  $4 wait for a locked row at most so many milliseconds
{release};
