-- acquire.sql for many keys, locked in their order.
-- $1 keys  $2 holder  $3 ttl_us
INSERT INTO locks AS l (key, locked_by, locked_at, locked_until, sequence)
SELECT key, $2, clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC' + $3::bigint * interval '1us',
       (date_part('epoch', clock_timestamp()) * 1000000)::bigint
  FROM unnest($1::varchar[]) AS key ORDER BY key COLLATE "C"
ON CONFLICT (key) DO UPDATE SET
  locked_by = excluded.locked_by, locked_at = excluded.locked_at, locked_until = excluded.locked_until,
  sequence = greatest(l.sequence + 1, excluded.sequence)
WHERE l.locked_by IS NULL OR l.locked_by = excluded.locked_by OR l.locked_until < clock_timestamp() AT TIME ZONE 'UTC'
RETURNING l.key, l.sequence
