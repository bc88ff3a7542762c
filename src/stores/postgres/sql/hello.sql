-- SPDX-License-Identifier: Apache-2.0
-- Who answers here, and which of our tables are there.
-- $1 the lock table, quoted  $2 its schema, NULL: wherever the search path finds it  $3 names of what lies beside it
-- Types are as the operators of pg_catalog have them exactly, so that no other operator of that name is closer.
SELECT pg_backend_pid(), {now_us}, pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'::text,
       current_database()::text,
       coalesce(n.nspname::text, $2::text, current_schema()::text) AS schema,
       c.relkind::text, c.relpersistence::text,
       (SELECT string_agg(a.attname::text || ' ' || format_type(a.atttypid, a.atttypmod), ',')
          FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND a.attnum > 0::smallint AND NOT a.attisdropped) AS columns,
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                 JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                WHERE i.indrelid = c.oid AND a.attname::text = 'key'::text AND i.indnkeyatts = 1::smallint
                  AND i.indisunique AND i.indisvalid AND i.indimmediate
                  AND i.indpred IS NULL AND i.indexprs IS NULL) AS one_row_per_key,
       (SELECT string_agg(o.relname::text, ',')
          FROM pg_catalog.pg_class AS o
          JOIN pg_catalog.pg_namespace AS m ON m.oid = o.relnamespace
         WHERE m.nspname::text = coalesce(n.nspname::text, $2::text, current_schema()::text)
           AND o.relname::text = ANY ($3::text[])) AS beside
  FROM (SELECT to_regclass($1::text)::oid AS found) AS t
  LEFT JOIN pg_catalog.pg_class AS c ON c.oid = t.found
  LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace;
