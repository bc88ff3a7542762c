-- SPDX-License-Identifier: Apache-2.0
-- One renewal: never for less than the lease had.  One without end stays so.  No row: it is lost.
-- $1 key  $2 holder  $3 token, 0: any  $4 ttl in microseconds, NULL: without end  $5 add ttl to what is left
-- $6 wait for a locked row at most so many milliseconds
UPDATE {locks} AS l
   SET locked_until = CASE WHEN l.locked_until IS NULL OR $4::bigint IS NULL THEN NULL
                           WHEN $5::boolean THEN least(l.locked_until + $4::bigint::float8 * interval '1us', {last_day})
                           ELSE greatest(l.locked_until, {now} + $4::bigint::float8 * interval '1us') END
 WHERE l.key::text = $1::text
   AND l.locked_by::text = $2::text
   AND ($3::bigint = 0 OR l.sequence = $3::bigint)
   AND coalesce(l.locked_until >= {now}, true)
   AND set_config('lock_timeout', $6::bigint::text, true) IS NOT NULL
RETURNING 'g' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable};
