-- SPDX-License-Identifier: Apache-2.0
-- A part of other statements: the first of the jobs that wait for the lock of {key} is due at {then}, if {when}.  One
-- that somebody has locked is passed over: it is being claimed or ended just now, and its claim sees that the lock is
-- free, or it sees to the next; or it is a caller's open transaction that replaces it, and it looks for itself, at the
-- latest {parked_pause} after it was parked.  To wait for it would make whoever ends a job wait for that transaction.
UPDATE {jobs} AS u
     SET due_at = {then}
   WHERE u.id = (SELECT w.id FROM {jobs} AS w
                  WHERE w.parked AND w.state = 'queued' AND w.due_at <> w.run_at
                    AND w.key = {key}
                    AND w.due_at > {now} AND {when}
                  ORDER BY w.priority, w.run_at, w.id LIMIT 1
                    FOR UPDATE SKIP LOCKED)
  RETURNING u.id
