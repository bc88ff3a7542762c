-- SPDX-License-Identifier: Apache-2.0
-- What is asked about a server, its tables and its user: at each connect, by each client that opens, and by doctor.

-- name: probe
-- Who answers here, and which of our tables are there.
-- $1 the lock table, quoted  $2 its schema, NULL: wherever the search path finds it  $3 names of what lies beside it
-- $4 the one of them that has their version
-- Types are as the operators of pg_catalog have them exactly, so that no other operator of that name is closer.
SELECT pg_backend_pid(), {now_us}, pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'::text,
       current_database()::text,
       s.schema,
       c.relkind::text, c.relpersistence::text,
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                 JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                WHERE i.indrelid = c.oid AND a.attname::text = 'key'::text AND i.indnkeyatts = 1::smallint
                  AND i.indisunique AND i.indisvalid AND i.indimmediate
                  AND i.indpred IS NULL AND i.indexprs IS NULL) AS one_row_per_key,
       (SELECT string_agg(o.relname::text, ',')
          FROM pg_catalog.pg_class AS o
         WHERE o.relnamespace = m.oid AND o.relname::text = ANY ($3::text[])) AS beside,
       -- Of the lock table under no name: "waiters.key d text", where n: may be NULL, d: may not, g: has no default
       (SELECT string_agg(CASE WHEN o.oid = c.oid THEN '' ELSE o.relname::text END || '.' || a.attname::text || ' '
                          || CASE WHEN NOT a.attnotnull THEN 'n'
                                  WHEN a.atthasdef OR a.attidentity::text <> ''::text THEN 'd' ELSE 'g' END
                          -- Types of PostgreSQL's own without the quotes that quote_all_identifiers puts around some.
                          || ' ' || CASE WHEN a.atttypid < 16384::oid
                                         THEN replace(format_type(a.atttypid, a.atttypmod), '"'::text, ''::text)
                                         ELSE format_type(a.atttypid, a.atttypmod) END, chr(10))
          FROM pg_catalog.pg_class AS o
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = o.oid
         WHERE (o.oid = c.oid OR (o.relnamespace = m.oid AND o.relname::text = ANY ($3::text[])))
           AND a.attnum > 0::smallint AND NOT a.attisdropped) AS columns,
       m.oid IS NOT NULL AS schema_is_there,
       -- Their unique index has the keys in bytewise order.  Of a database: by libc's C, or any of PostgreSQL's own.
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                 JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                 JOIN pg_catalog.pg_collation AS l ON l.oid = i.indcollation[0]
                 JOIN pg_catalog.pg_database AS d ON d.datname::text = current_database()::text
                WHERE i.indrelid = c.oid AND a.attname::text = 'key'::text AND i.indnkeyatts = 1::smallint
                  AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
                  AND i.indcollation[0] = a.attcollation AND l.collnamespace = 'pg_catalog'::regnamespace::oid
                  AND CASE WHEN l.collname::text <> 'default'::text THEN l.collname::text IN ('C'::text, 'POSIX'::text)
                           WHEN pg_catalog.to_jsonb(d) ->> 'datlocprovider'::text = 'b'::text THEN true
                           WHEN pg_catalog.to_jsonb(d) ->> 'datlocprovider'::text <> 'c'::text THEN false
                           ELSE d.datcollate::text IN ('C'::text, 'POSIX'::text) END) AS keys_in_order,
       -- "version 3", "needs 2"
       (SELECT string_agg(a.attname::text || ' ' || pg_get_expr(d.adbin, d.adrelid), chr(10))
          FROM pg_catalog.pg_class AS o
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = o.oid
          JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = o.oid AND d.adnum = a.attnum
         WHERE o.relnamespace = m.oid AND o.relname::text = $4::text AND NOT a.attisdropped
           AND (a.attname::text = 'version'::text OR a.attname::text = 'needs'::text)) AS versions
  FROM (SELECT to_regclass($1::text)::oid AS found) AS t
  LEFT JOIN pg_catalog.pg_class AS c ON c.oid = t.found
  LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (SELECT coalesce(n.nspname::text, $2::text, current_schema()::text) AS schema) AS s
  LEFT JOIN pg_catalog.pg_namespace AS m ON m.nspname::text = s.schema;

-- part: server
-- How the server is set up.  Of who receives its log an ordinary user sees that they are there, how they call
-- themselves and whether they have a database, as those of logical replication do: then none counts as asynchronous
-- where some are named as synchronous.  What only writes the log down (pg_receivewal) replays nothing.
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

-- name: examine_server
-- include: server
;

-- name: examine
-- As examine_server, and whether `init` has created the lock table.
-- include: server
     , (SELECT s.made FROM {state} AS s);

-- name: made_by_init
-- Whether `init` has created the lock table.
SELECT s.made FROM {state} AS s;

-- name: diagnose
-- What costs more to find out.  Asked where the search path is pg_catalog alone.
-- $1 the lock table, quoted  $2 names of what lies beside it  $3 the schemas of the search path
-- $4 names of what only jobs have beside it  $5 ShedLock's table, quoted, which may be there before ours; NULL: none
WITH ours AS (
  SELECT o.oid, o.relname::text AS name, o.relkind, o.relowner, o.relnamespace, o.relpersistence
    FROM pg_class AS c
    JOIN pg_class AS o ON o.relnamespace = c.relnamespace
                      AND (o.oid = c.oid OR o.oid = to_regclass($1::text)::oid
                           OR o.relname::text = ANY ($2::text[] || $4::text[]))
   WHERE c.oid = coalesce(to_regclass($5::text), to_regclass($1::text))::oid
), owned AS (
  SELECT o.name, o.relowner AS owner FROM ours AS o
   UNION ALL  -- who can drop a table there, and put another in its place
  SELECT 'the schema ' || n.nspname, n.nspowner
    FROM pg_namespace AS n WHERE n.oid IN (SELECT o.relnamespace FROM ours AS o)
), strangers AS (  -- owners who are neither over the database nor ourselves, nor one of whom we are
  SELECT o.name, r.rolname::text AS owner
    FROM owned AS o
    JOIN pg_roles AS r ON r.oid = o.owner
    JOIN pg_database AS d ON d.datname = current_database()
    JOIN pg_roles AS me ON me.rolname = current_user
   WHERE NOT pg_has_role(r.oid, d.datdba, 'MEMBER') AND r.rolname <> 'pg_database_owner'
     AND NOT EXISTS (SELECT FROM pg_roles AS s WHERE s.rolsuper AND pg_has_role(r.oid, s.oid, 'MEMBER'))
     AND CASE WHEN me.rolsuper THEN r.oid <> me.oid ELSE NOT pg_has_role(r.oid, 'MEMBER') END
), expressions AS (  -- what is worked out when a row of ours is written; the columns because of their types
  SELECT o.name, 'pg_attrdef'::regclass AS class, a.oid FROM ours AS o JOIN pg_attrdef AS a ON a.adrelid = o.oid
   UNION ALL
  SELECT o.name, 'pg_constraint'::regclass, k.oid FROM ours AS o JOIN pg_constraint AS k ON k.conrelid = o.oid
   UNION ALL
  SELECT o.name, 'pg_class'::regclass, i.indexrelid FROM ours AS o JOIN pg_index AS i ON i.indrelid = o.oid
   UNION ALL
  SELECT o.name, 'pg_class'::regclass, o.oid FROM ours AS o WHERE o.relkind IN ('r', 'p')
), used AS MATERIALIZED (
  SELECT DISTINCT e.name, d.refclassid AS class, d.refobjid AS oid
    FROM expressions AS e
    JOIN pg_depend AS d ON d.classid = e.class AND d.objid = e.oid
   WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_type'::regclass)
     -- What an extension brought was installed by somebody who may.
     AND NOT EXISTS (SELECT FROM pg_depend AS x
                      WHERE x.classid = d.refclassid AND x.objid = d.refobjid AND x.deptype = 'e')
), hooks AS (
  SELECT f.identity || ' on ' || u.name AS name
    FROM used AS u CROSS JOIN LATERAL pg_identify_object(u.class, u.oid, 0) AS f
   WHERE f.schema <> 'pg_catalog'
   UNION ALL
  SELECT t.tgname || ' on ' || o.name
    FROM ours AS o JOIN pg_trigger AS t ON t.tgrelid = o.oid
   WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
   UNION ALL
  SELECT w.rulename || ' on ' || o.name
    FROM ours AS o JOIN pg_rewrite AS w ON w.ev_class = o.oid
   WHERE o.relkind IN ('r', 'p') AND w.ev_enabled <> 'D'
), writable AS (
  SELECT n.oid, n.nspname::text AS name
    FROM pg_namespace AS n
   WHERE n.nspname::text = ANY ($3::text[]) AND NOT starts_with(n.nspname::text, 'pg_')
     AND has_schema_privilege('public', n.oid, 'CREATE')
), namesakes AS (
  SELECT 'pg_proc'::regclass AS class, p.oid
    FROM pg_proc AS p JOIN writable AS w ON w.oid = p.pronamespace
   WHERE EXISTS (SELECT FROM pg_proc AS own WHERE own.proname = p.proname AND own.pronamespace = 'pg_catalog'::regnamespace)
   UNION ALL
  SELECT 'pg_operator'::regclass, o.oid
    FROM pg_operator AS o JOIN writable AS w ON w.oid = o.oprnamespace
   WHERE EXISTS (SELECT FROM pg_operator AS own
                  WHERE own.oprname = o.oprname AND own.oprnamespace = 'pg_catalog'::regnamespace)
)
SELECT current_setting('synchronous_commit'),
       (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user),
       (SELECT o.option_value FROM pg_options_to_table(c.reloptions) AS o WHERE o.option_name = 'fillfactor'),
       (SELECT t.n_dead_tup FROM pg_stat_all_tables AS t WHERE t.relid = c.oid),
       (SELECT t.n_live_tup FROM pg_stat_all_tables AS t WHERE t.relid = c.oid),
       (SELECT string_agg(o.name, ', ' ORDER BY o.name)
          FROM ours AS o
         WHERE (o.name = ANY ($2::text[]) OR o.oid = to_regclass($5::text)::oid)
           AND o.relkind = 'r' AND o.relpersistence <> 'p'),
       (SELECT string_agg(w.name, ', ' ORDER BY w.name) FROM writable AS w),
       -- What an extension brought was installed by somebody who may.
       (SELECT count(*) FROM namesakes AS f
         WHERE NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = f.class AND d.objid = f.oid AND d.deptype = 'e')),
       EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = 'aurora_version'),
       EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'bdr'),
       (SELECT string_agg(DISTINCT s.owner, ', ') FROM strangers AS s),
       (SELECT string_agg(s.name, ', ' ORDER BY s.name) FROM strangers AS s),
       (SELECT string_agg(h.name, ', ' ORDER BY h.name) FROM hooks AS h),
       (SELECT string_agg(o.name, ', ' ORDER BY o.name) FROM ours AS o WHERE row_security_active(o.oid)),
       (SELECT string_agg(o.name, ', ' ORDER BY o.name) FROM ours AS o WHERE o.relkind NOT IN ('r', 'p'))
  FROM (SELECT to_regclass($1::text)::oid AS found) AS t
  LEFT JOIN pg_class AS c ON c.oid = t.found;

-- name: privileges
-- What a client needs and this user may not: a statement each, for whoever owns it.  Asked where the search path is
-- pg_catalog alone.
-- $1 tables, quoted, the lock table first  $2 of each the privileges, with commas between
SELECT format('GRANT %s ON %s TO %I', string_agg(p.privilege, ', ' ORDER BY p.place), n.name, current_user)
  FROM unnest($1::text[], $2::text[]) AS n (name, privileges)
 CROSS JOIN LATERAL unnest(string_to_array(n.privileges, ',')) WITH ORDINALITY AS p (privilege, place)
 WHERE NOT has_table_privilege(to_regclass(n.name)::oid, p.privilege)
 GROUP BY n.name
UNION ALL
-- The numbers of its rows: a serial column draws them, by whoever inserts.
SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', s.oid::regclass, current_user)
  FROM pg_depend AS d
  JOIN pg_class AS s ON s.oid = d.objid
 WHERE d.classid = 'pg_class'::regclass AND d.refobjid = to_regclass(($1::text[])[1])::oid AND d.deptype = 'a'
   -- To ask so about anything but a sequence is an error, whatever else is asked about it.
   AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE') ELSE false END
 ORDER BY 1;

-- name: schema_privilege
-- To look for a table in a schema that one may not enter is an error.  The statement that would let us in, for whoever owns
-- it; no row: we may.  Asked where the search path is pg_catalog alone.
-- $1 schema
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, current_user)
  FROM pg_namespace AS n
 WHERE n.nspname = $1::text AND NOT has_schema_privilege(n.oid, 'USAGE');

-- name: search_path
-- The schemas of the search path, in order.
SELECT s FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS s;

-- name: who_answers
-- Which process, of a server that was started when: through a pooler, or by several servers, the answer differs.
SELECT pg_catalog.pg_backend_pid(),
       (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1000000::float8)::bigint;

-- name: find_table
-- The schema of a lock table, and the type of its keys; no row: there is none.
-- $1 the lock table, quoted
SELECT n.nspname::text,
       (SELECT format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND a.attname::text = 'key'::text)
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.oid = to_regclass($1::text)::oid;
