-- SPDX-License-Identifier: Apache-2.0
-- One acquire of a key that was seen free or ours a moment ago: acquire.sql without what is needed for a new key,
-- or to say who has it; a third of the work.  No row: ask that.
-- $1 key  $2 holder  $3 ttl in microseconds, NULL: without end  $4 void after this moment, in microseconds
-- $5 wait for a locked row at most so many milliseconds
UPDATE {locks} AS l
   SET locked_by = $2::text,
       locked_at = {now},
       locked_until = {now} + $3::bigint::float8 * interval '1us',
       sequence = greatest(l.sequence + 1, {now_us})
 WHERE l.key::text = $1::text
   AND l.locked_by IS NULL
   AND l.sequence > 0
   AND NOT EXISTS (SELECT FROM {waiters} AS w WHERE w.key = $1::text)
   AND {now_us} <= $4::bigint
   AND set_config('lock_timeout', greatest(1, least($5::bigint, ($4::bigint - {now_us}) / 1000))::text, true) IS NOT NULL
RETURNING 'g' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable};
