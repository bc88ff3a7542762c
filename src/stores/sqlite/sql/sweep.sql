-- SPDX-License-Identifier: Apache-2.0
-- Takes away what nobody needs any more, 500 keys at a time, going round: what has been free for a day,
-- with all that belongs to it.  A key's next token still rises, because it starts from the wall clock.
-- A BLOB sorts behind every TEXT: swept_to = x'' is the end of the table.
-- It always writes something: the first to write after a checkpoint starts the log anew.
UPDATE {state}
   SET swept_from = CASE typeof(swept_to) WHEN 'blob' THEN '' ELSE swept_to END,
       swept_at = walltime();
UPDATE {state}
   SET swept_to = coalesce(
         (SELECT key FROM {locks} WHERE key > swept_from ORDER BY key LIMIT 1 OFFSET 499),
         x'');

DELETE FROM {waiters}
 WHERE key > (SELECT swept_from FROM {state}) AND key <= (SELECT swept_to FROM {state})
   AND until <= boottime();
DELETE FROM {locks}
 WHERE key > (SELECT swept_from FROM {state}) AND key <= (SELECT swept_to FROM {state})
   AND locked_until < boottime() - 86400000000
   AND NOT EXISTS (SELECT 1 FROM {waiters} AS w WHERE w.key = {locks}.key);
DELETE FROM {facts}
 WHERE key > (SELECT swept_from FROM {state}) AND key <= (SELECT swept_to FROM {state})
   AND NOT EXISTS (SELECT 1 FROM {locks} AS l WHERE l.key = {facts}.key AND l.sequence = {facts}.token);

DELETE FROM {log} WHERE rowid <= (SELECT max(rowid) FROM {log}) - 10000;
