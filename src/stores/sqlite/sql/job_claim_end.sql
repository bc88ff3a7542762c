-- SPDX-License-Identifier: Apache-2.0
-- The job that runs whose claim runs out first.
-- ?1 queue
SELECT claim_until, id FROM {jobs} WHERE state = 'running' AND queue = ?1 ORDER BY claim_until, id LIMIT 1;
