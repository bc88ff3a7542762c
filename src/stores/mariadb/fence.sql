-- Holdfast's fence for MariaDB and MySQL: a table of marks and a procedure, in the current database.  Once:
--
--   holdfast fence --code mariadb | mariadb app
--
-- Then every transaction of a holder, also one that only reads, begins with the claim:
--
--   START TRANSACTION;
--   CALL holdfast_fence('orders', 1763193600000000);   -- a name for what is fenced; the token of the lease
--   ... read and write ...
--   COMMIT;
--
-- No younger token was here, and until this transaction ends nobody else gets past the claim.  An older holder gets
-- an error, SQLSTATE 45000: roll back.  A transaction that is rolled back leaves the mark as it was, as it leaves
-- the data.  Without a transaction nothing holds off a younger holder between the claim and the write.
CREATE TABLE IF NOT EXISTS holdfast_fences (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL
) ENGINE = InnoDB;

DROP PROCEDURE IF EXISTS holdfast_fence;

DELIMITER //
CREATE PROCEDURE holdfast_fence(IN fenced VARBINARY(512), IN claim BIGINT) MODIFIES SQL DATA
BEGIN
  DECLARE seen BIGINT;
  DECLARE refusal VARCHAR(128);
  IF fenced IS NULL OR claim IS NULL OR claim <= 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'holdfast_fence needs a name and a token above 0';
  END IF;
  INSERT INTO holdfast_fences (name, token) VALUES (fenced, claim)
    ON DUPLICATE KEY UPDATE token = GREATEST(token, claim);
  -- What stands there now, not what this transaction may have seen before.
  SELECT token INTO seen FROM holdfast_fences WHERE name = fenced FOR UPDATE;
  IF seen <> claim THEN
    SET refusal = CONCAT('token ', claim, ' is too old: ', seen, ' was here');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
  END IF;
END //
DELIMITER ;
