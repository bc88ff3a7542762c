-- SPDX-License-Identifier: Apache-2.0
-- Takes away places that have run out; one that somebody has locked just now stays.
-- $1 so many
WITH dead AS MATERIALIZED (
  SELECT w.key, w.client FROM {waiters} AS w WHERE w.until <= {now} LIMIT $1::bigint FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {waiters} AS w USING dead AS d WHERE w.key = d.key AND w.client = d.client RETURNING 1
)
SELECT count(*) FROM gone;
