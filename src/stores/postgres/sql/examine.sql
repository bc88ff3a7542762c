-- SPDX-License-Identifier: Apache-2.0
-- How the server is set up.  Of its standbys an ordinary user sees that they are there, and no more.
SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('default_transaction_isolation'),
       current_setting('synchronous_standby_names'), version(),
       (SELECT count(*) FROM pg_catalog.pg_stat_replication)::bigint,
       pg_notification_queue_usage() > 0.1::float8, (SELECT s.made FROM {state} AS s);
