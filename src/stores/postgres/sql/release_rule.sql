-- SPDX-License-Identifier: Apache-2.0
-- A part of other statements: a lease is given back.  Its row stays, and says since when it is free.  Rings the first
-- who waits, if anybody does.
-- {key} {holder} {token}, 0: any  {from} and {if}: where those come from, and on what condition
UPDATE {locks} AS l
   SET locked_by = NULL, locked_until = {now}
  {from}
 WHERE l.key::text = {key}
   AND l.locked_by::text = {holder}
   AND ({token} = 0 OR l.sequence = {token})
   AND coalesce(l.locked_until >= {now}, true)
   AND {if}
RETURNING 'r' AS verdict, l.sequence AS token, l.locked_by::text AS holder,
          {us l.locked_until} AS until_us, {now_us} AS now_us,
          {durable},
          (SELECT pg_notify('holdfast_' || f.client, {key}) IS NULL
             FROM (SELECT w.client FROM {waiters} AS w WHERE w.key = {key} AND w.until > {now}
                    ORDER BY w.ticket LIMIT 1) AS f) AS rung
