-- SPDX-License-Identifier: Apache-2.0
-- A part of other statements: all that is told of the job j.
j.id, j.name, j.queue, j.args, j.key, j.priority, j.state, {us j.enqueued_at}, {us j.run_at}, {us j.due_at},
       {us j.started_at}, {us j.finished_at}, j.attempt, j.crashes, j.max_attempts, j.lock_ttl, j.lock_fixed, j.lock_limit,
       j.on_conflict, j.uniqueness, j.slot IS NOT NULL AS slotted, j.parked, j.holder, j.lock, j.token,
       CASE WHEN j.state = 'running'
            THEN greatest(0, ceil(date_part('epoch', j.claim_until - {now}) * 1000::float8)::bigint) ELSE 0 END
         AS claim_remaining_ms, j.error, j.duplicates, j.trail
