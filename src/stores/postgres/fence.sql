-- Holdfast's fence for PostgreSQL: a table of marks and a function, in the current schema.  Once:
--
--   holdfast fence --code postgres | psql app
--
-- Then every transaction of a holder, also one that only reads, begins with the claim, and stops if that is false:
--
--   BEGIN;
--   SELECT holdfast_fence('orders', 1763193600000000);   -- a name for what is fenced; the token of the lease
--   ... read and write ...
--   COMMIT;
--
-- True: no younger token was here, and until this transaction ends nobody else gets past the claim.  False: an older
-- holder; roll back.  A transaction that is rolled back leaves the mark as it was, as it leaves the data.
CREATE TABLE IF NOT EXISTS holdfast_fences (
  name text PRIMARY KEY,
  token bigint NOT NULL CHECK (token > 0)
);

-- Whoever calls it, with whatever search_path: the table is the one beside the function.
DO $make$
BEGIN
  EXECUTE pg_catalog.format($function$
    CREATE OR REPLACE FUNCTION %1$I.holdfast_fence(name text, token bigint) RETURNS boolean
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
      WITH claimed AS (
        INSERT INTO %1$I.holdfast_fences AS mark (name, token) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE mark.token <= excluded.token
        RETURNING 1
      )
      SELECT EXISTS (SELECT 1 FROM claimed)
    $body$
  $function$, pg_catalog.current_schema());
END
$make$;
