-- SPDX-License-Identifier: Apache-2.0
-- Jobs for people, the newest first.
-- {id} and {key} are conditions of their own where one of them is asked for, so that its index is taken.
-- $1 id  $2 key  $3 name  $4 queue  $5 state  $6 older than this one  $7 so many; NULL: any
SELECT {row}
  FROM {jobs} AS j
 WHERE {id} AND {key}
   AND ($3::text IS NULL OR j.name = $3::text) AND ($4::text IS NULL OR j.queue = $4::text)
   AND ($5::text IS NULL OR j.state = $5::text) AND ($6::bigint IS NULL OR j.id < $6::bigint)
 ORDER BY j.id DESC
 LIMIT $7::bigint;
