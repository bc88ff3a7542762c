-- SPDX-License-Identifier: Apache-2.0
-- What an operator does to the job that job_hold.sql has locked; which see for why there are two.  Answers the job as
-- it was and, if that was done, as it is.
-- $1 cancel, retry or remove  $2 by whom
WITH mine AS MATERIALIZED (
  SELECT j.*, {now} AS now, r.id AS rival,
         CASE $1::text WHEN 'cancel' THEN j.state IN ('queued', 'running', 'dead')
                       WHEN 'retry' THEN j.state NOT IN ('queued', 'running') AND r.id IS NULL
                       ELSE j.state <> 'running' END AS fits
    FROM {jobs} AS j
    LEFT JOIN {jobs} AS r
      ON r.slot = 'loner:' || j.key AND r.id <> j.id AND $1::text = 'retry' AND j.uniqueness <> 'no'
   WHERE j.id = nullif(current_setting('holdfast.job', true), '')::bigint
), gone AS (
  DELETE FROM {jobs} AS j USING mine AS m WHERE j.id = m.id AND m.fits AND $1::text = 'remove' RETURNING j.*
), changed AS (
  UPDATE {jobs} AS j
     SET state = CASE $1::text WHEN 'cancel' THEN 'cancelled' ELSE 'queued' END,
         finished_at = CASE $1::text WHEN 'cancel' THEN m.now END,
         parked = false,
         claim_until = NULL,
         slot = CASE WHEN $1::text = 'retry' AND m.uniqueness <> 'no' THEN 'loner:' || m.key END,
         attempt = CASE $1::text WHEN 'retry' THEN 0 ELSE m.attempt END,
         crashes = CASE $1::text WHEN 'retry' THEN 0 ELSE m.crashes END,
         run_at = CASE $1::text WHEN 'retry' THEN m.now ELSE m.run_at END,
         due_at = CASE $1::text WHEN 'retry' THEN m.now ELSE m.due_at END,
         error = CASE $1::text WHEN 'retry' THEN '' ELSE m.error END,
         trail = {note m.trail | m.now | CASE $1::text WHEN 'cancel' THEN 'cancelled' ELSE 'retried' END | $2::text}
    FROM mine AS m
   WHERE j.id = m.id AND m.fits AND $1::text <> 'remove'
  RETURNING j.*
), woken AS (
  {unpark}
)
SELECT m.fits, m.rival, m.state AS was,
       {row}
  FROM mine AS m
  JOIN (SELECT * FROM gone UNION ALL SELECT * FROM changed
        UNION ALL SELECT j.* FROM mine AS n JOIN {jobs} AS j ON j.id = n.id WHERE NOT n.fits) AS j ON true;
