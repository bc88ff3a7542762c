-- SPDX-License-Identifier: Apache-2.0
-- What costs more to find out.  Asked where the search path is pg_catalog alone.
-- $1 the lock table, quoted  $2 names of what lies beside it  $3 the schemas of the search path
WITH writable AS (
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
       EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'bdr')
  FROM (SELECT to_regclass($1::text)::oid AS found) AS t
  LEFT JOIN pg_class AS c ON c.oid = t.found;
