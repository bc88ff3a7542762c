-- SPDX-License-Identifier: Apache-2.0
-- The first words on every connection: how we want it, who answers, and which of our tables are there.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- What a server hands to every session is for other people's statements: CHAIN would leave ours uncommitted, a limit of
-- rows would cut batches and queues, one of time would end what we wait for.  Each server reads its own comment.
SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
    innodb_lock_wait_timeout = 1, lock_wait_timeout = 2, sql_select_limit = 18446744073709551615, sql_safe_updates = 0,
    unique_checks = 1 /*M! , max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */{zone};
SELECT {now_us}, VERSION(), DATABASE(), SLEEP(0.0001) + (SYSDATE(6) = NOW(6));
SHOW VARIABLES WHERE Variable_name IN ('read_only', 'log_bin', 'binlog_format', 'innodb_flush_log_at_trx_commit',
    'sync_binlog', 'wsrep_on', 'collation_database');
SHOW GLOBAL STATUS LIKE 'Slaves_running';
SELECT TABLE_NAME, COALESCE(ENGINE, TABLE_TYPE)
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({tables});
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY, COALESCE(COLLATION_NAME, ''), IS_NULLABLE,
       COLUMN_DEFAULT IS NULL AND EXTRA NOT LIKE '%auto_increment%'
  FROM information_schema.COLUMNS
 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({tables});
