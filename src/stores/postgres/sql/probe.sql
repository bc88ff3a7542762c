-- SPDX-License-Identifier: Apache-2.0
-- Who answers here, and which of our tables are there.
-- $1 the lock table, quoted  $2 its schema, NULL: wherever the search path finds it  $3 names of what lies beside it
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
                           ELSE d.datcollate::text IN ('C'::text, 'POSIX'::text) END) AS keys_in_order
  FROM (SELECT to_regclass($1::text)::oid AS found) AS t
  LEFT JOIN pg_catalog.pg_class AS c ON c.oid = t.found
  LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (SELECT coalesce(n.nspname::text, $2::text, current_schema()::text) AS schema) AS s
  LEFT JOIN pg_catalog.pg_namespace AS m ON m.nspname::text = s.schema;
