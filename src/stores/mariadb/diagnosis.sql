-- SPDX-License-Identifier: Apache-2.0
-- What is asked about a server; leases.sql says what the braces mean.

-- name: probe
-- The first text on every connection: how the session is to be, which server answers, and which of our tables there are.
--   {zone}    the session's time zone: UTC, but beside the table of another program the server's own
--   {tables}  a list of names
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- A server may set these for every session, with other statements in mind: CHAIN would leave our transactions uncommitted, a
-- limit of rows would cut batches and queues, a limit of time would end waiting. Each server reads its own comment.
SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
    innodb_lock_wait_timeout = 1, lock_wait_timeout = 2, sql_select_limit = 18446744073709551615, sql_safe_updates = 0,
    unique_checks = 1, time_zone = {zone} /*M! , max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */;
SELECT {now_us}, VERSION(), DATABASE(), SLEEP(0.0001) + (SYSDATE(6) = NOW(6));
SHOW VARIABLES WHERE Variable_name IN ('read_only', 'log_bin', 'binlog_format', 'innodb_flush_log_at_trx_commit',
    'sync_binlog', 'wsrep_on', 'collation_database');
SHOW GLOBAL STATUS LIKE 'Slaves_running';
SELECT TABLE_NAME, COALESCE(ENGINE, TABLE_TYPE)
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({tables});
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY, COALESCE(COLLATION_NAME, ''), IS_NULLABLE,
       COLUMN_DEFAULT IS NULL AND EXTRA NOT LIKE '%auto_increment%', COLUMN_DEFAULT
  FROM information_schema.COLUMNS
 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({tables});

-- name: read_state_row
SELECT 1 FROM {state} WHERE one = 1;

-- The rest is only for a diagnosis. Each is sent by itself, because a user may lack the privilege for one of them.

-- name: replication_settings
-- How the server replicates and isolates.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point',
    'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_point', 'innodb_snapshot_isolation',
    'group_replication_single_primary_mode', 'group_replication_group_name');

-- name: replication_status
-- Of its cluster, and of the replicas that confirm.
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients',
    'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status', 'Slaves_connected', 'wsrep_cluster_status',
    'wsrep_local_state_comment');

-- name: count_replicas
SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%';

-- name: replica_status
-- Whether the server is a replica itself.
SHOW REPLICA STATUS;

-- name: slave_status
-- The same before MySQL 8.0.22.
SHOW SLAVE STATUS;

-- name: count_group_members
-- Whether MySQL's group replication runs there.
SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE <> 'OFFLINE';

-- name: show_grants
SHOW GRANTS;

-- name: account
-- This user as GRANT takes it.
SELECT CONCAT(QUOTE(LEFT(a.name, CHAR_LENGTH(a.name) - CHAR_LENGTH(a.host) - 1)), '@', QUOTE(a.host))
  FROM (SELECT CURRENT_USER() AS name, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host) AS a;

-- name: server_identity
SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir);

-- The next four ask for a privilege and change nothing. Errors other than a denied privilege do not matter.

-- name: may_select
EXPLAIN SELECT 1 FROM {table};

-- name: may_insert
EXPLAIN INSERT INTO {table} () VALUES ();

-- name: may_update
EXPLAIN UPDATE {table} SET {column} = '' WHERE FALSE;

-- name: may_delete
EXPLAIN DELETE FROM {table} WHERE FALSE;
