-- release.sql for many.  Nobody else wants these keys here, so the order in which they are locked is of no matter.
-- $1 keys  $2 holder  $3 tokens
UPDATE locks AS l SET locked_by = NULL
  FROM unnest($1::varchar[], $3::bigint[]) AS w(key, token)
 WHERE l.key = w.key AND l.locked_by = $2 AND l.sequence = w.token
