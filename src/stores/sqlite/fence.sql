-- Holdfast's fence for SQLite (3.24 or later): a table of marks, and a trigger that lets none of them fall.  Once:
--
--   holdfast fence --code sqlite | sqlite3 orders.db
--
-- Then every transaction of a holder, also one that only reads, begins with the claim:
--
--   BEGIN IMMEDIATE;
--   INSERT INTO holdfast_fences (name, token) VALUES ('orders', 1763193600000000)   -- what is fenced; the lease's token
--     ON CONFLICT (name) DO UPDATE SET token = excluded.token;
--   ... read and write ...
--   COMMIT;
--
-- An older holder gets an error (SQLITE_CONSTRAINT_TRIGGER): roll back.  A transaction that is rolled back leaves the
-- mark as it was, as it leaves the data.  The shell goes on behind an error unless it is called with -bail.
CREATE TABLE IF NOT EXISTS holdfast_fences (
  name TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token > 0)
) WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS holdfast_fence BEFORE UPDATE OF token ON holdfast_fences
WHEN new.token < old.token
BEGIN
  SELECT RAISE(ABORT, 'holdfast: the token is too old, a younger one was here');
END;
