-- SPDX-License-Identifier: Apache-2.0
-- A part of apply.sql and of job_claim.sql: when it is decided, and how long locked rows are waited for.
-- {void_after} acquires are void after this moment, in microseconds
-- {patience}   wait for locked rows at most so many milliseconds
clock AS MATERIALIZED (
  SELECT {now} AS now, {now_us} <= {void_after} AS in_time,
         {durable} AS durable,
         set_config('lock_timeout',
                    greatest(1, least({patience}, ({void_after} - {now_us}) / 1000))::text, true) AS lock_timeout
)
