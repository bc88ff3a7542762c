-- SPDX-License-Identifier: Apache-2.0
-- What costs more to find out.  Asked where the search path is pg_catalog alone.
-- $1 the lock table, quoted  $2 names of what lies beside it  $3 the schemas of the search path
-- $4 names of what only jobs have beside it
WITH ours AS (
  SELECT o.oid, o.relname::text AS name, o.relkind, o.relowner, o.relnamespace
    FROM pg_class AS c
    JOIN pg_class AS o ON o.relnamespace = c.relnamespace
                      AND (o.oid = c.oid OR o.relname::text = ANY ($2::text[] || $4::text[]))
   WHERE c.oid = to_regclass($1::text)::oid
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
       (SELECT string_agg(o.relname::text, ', ' ORDER BY o.relname)
          FROM pg_class AS o
         WHERE o.relnamespace = c.relnamespace AND o.relname::text = ANY ($2::text[])
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
