-- SPDX-License-Identifier: Apache-2.0
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
