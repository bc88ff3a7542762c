-- Leases by hand, on the table that our own store has: no more than one would write.
-- SET goes from left to right: locked_until is VALUES(locked_until) only if the line above has just made it so.
INSERT INTO locks (`key`, locked_by, locked_at, locked_until, sequence)
VALUES {rows}
ON DUPLICATE KEY UPDATE
  sequence = IF(locked_by IS NULL OR locked_by = VALUES(locked_by) OR locked_until < UTC_TIMESTAMP(6), sequence + 1, sequence),
  locked_until = IF(locked_by IS NULL OR locked_by = VALUES(locked_by) OR locked_until < UTC_TIMESTAMP(6),
                    VALUES(locked_until), locked_until),
  locked_by = IF(locked_until = VALUES(locked_until), VALUES(locked_by), locked_by)
RETURNING locked_by, sequence
