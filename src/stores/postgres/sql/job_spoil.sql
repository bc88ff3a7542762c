-- SPDX-License-Identifier: Apache-2.0
-- A job that cannot be started, whoever tries, is set aside as dead, so that its queue goes on.
-- $1 id  $2 error  $3 wait for a locked row at most so many milliseconds
WITH clock AS MATERIALIZED (SELECT {now} AS now)
UPDATE {jobs} AS j
   SET state = 'dead', finished_at = c.now, parked = false, error = $2::text,
       slot = CASE WHEN j.uniqueness = 'until_success' THEN j.slot END,
       trail = {note j.trail | c.now | 'failed' | $2::text}
  FROM clock AS c
 WHERE j.id = $1::bigint AND j.state = 'queued'
   AND (SELECT set_config('lock_timeout', greatest(1, $3::bigint)::text, true)) IS NOT NULL
   AND (SELECT {durable}) IS NOT NULL
RETURNING j.id;
