-- SPDX-License-Identifier: Apache-2.0
-- How the server is set up.  Of who receives its log an ordinary user sees that they are there, how they call
-- themselves and whether they have a database, as those of logical replication do: then none counts as asynchronous
-- where some are named as synchronous.  What only writes the log down (pg_receivewal) replays nothing.
-- Whoever has the tables asks more behind it.
SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('default_transaction_isolation'),
       version(),
       (SELECT count(*) FROM pg_catalog.pg_stat_replication AS r
          LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = r.pid
         WHERE a.datid IS NULL
           AND coalesce(r.application_name <> 'pg_receivewal'::text AND r.application_name <> 'pg_basebackup'::text, true)
           AND coalesce(r.state <> 'backup'::text, true)
           AND (coalesce(r.state <> 'streaming'::text, true) OR r.replay_lsn IS NOT NULL)
           AND coalesce(r.sync_state = 'async'::text, current_setting('synchronous_standby_names') = ''::text))::bigint,
       EXISTS (SELECT FROM pg_catalog.pg_stat_replication AS r WHERE r.state IS NULL),
       pg_notification_queue_usage() > 0.1::float8
