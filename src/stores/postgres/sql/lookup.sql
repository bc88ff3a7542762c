-- SPDX-License-Identifier: Apache-2.0
-- What the row says, without waiting for whoever has it locked.
-- $1 key
SELECT l.sequence AS token, l.locked_by::text AS holder, {us l.locked_until} AS until_us,
       {now_us} AS now_us
  FROM {locks} AS l
 WHERE l.key::text = $1::text;
