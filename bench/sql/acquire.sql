-- Leases by hand, on the table that Ruby's locker has: no more than one would write.
-- $1 key  $2 holder  $3 ttl_us
INSERT INTO locks AS l (key, locked_by, locked_at, locked_until, sequence)
VALUES ($1, $2, clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC' + $3::bigint * interval '1us',
        (date_part('epoch', clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (key) DO UPDATE SET
  locked_by = excluded.locked_by, locked_at = excluded.locked_at, locked_until = excluded.locked_until,
  sequence = greatest(l.sequence + 1, excluded.sequence)
WHERE l.locked_by IS NULL OR l.locked_by = excluded.locked_by OR l.locked_until < clock_timestamp() AT TIME ZONE 'UTC'
RETURNING sequence
