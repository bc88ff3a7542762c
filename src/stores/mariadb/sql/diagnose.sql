-- SPDX-License-Identifier: Apache-2.0
-- What costs more to find out, and what not everybody may see: each is asked by itself, and who may not sees nothing.

-- settings: how it replicates, and how it isolates.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point',
    'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_point', 'innodb_snapshot_isolation',
    'group_replication_single_primary_mode', 'group_replication_group_name');

-- status: of its cluster, and of the replicas that confirm.
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients',
    'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status', 'Slaves_connected', 'wsrep_cluster_status', 'wsrep_local_state_comment');

-- replicas: who fetches its log.
SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%';

-- source: whose log it replays itself.
SHOW REPLICA STATUS;

-- master: the same, for MySQL before 8.0.22.
SHOW SLAVE STATUS;

-- group: whether MySQL's group replication runs there.
SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE <> 'OFFLINE';

-- grants: what this user may.
SHOW GRANTS;

-- account: as GRANT takes it.
SELECT CONCAT(QUOTE(LEFT(a.name, CHAR_LENGTH(a.name) - CHAR_LENGTH(a.host) - 1)), '@', QUOTE(a.host))
  FROM (SELECT CURRENT_USER() AS name, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host) AS a;

-- who: which server this is.
SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir);
