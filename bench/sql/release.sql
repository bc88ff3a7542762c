-- $1 key  $2 holder  $3 the token that acquire.sql returned
UPDATE locks SET locked_by = NULL WHERE key = $1 AND locked_by = $2 AND sequence = $3
