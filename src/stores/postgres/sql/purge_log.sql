-- SPDX-License-Identifier: Apache-2.0
-- Takes away what was written down so long ago.
-- $1 so many microseconds
WITH gone AS (
  DELETE FROM {log} AS g WHERE g.at <= {now} - $1::bigint::float8 * interval '1us' RETURNING 1
)
SELECT count(*) FROM gone;
