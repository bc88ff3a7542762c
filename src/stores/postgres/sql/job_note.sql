-- SPDX-License-Identifier: Apache-2.0
-- A part of other statements: {trail} with one more line at its end, "MICROS EVENT DETAIL".  The moment is that of the
-- columns which the statement sets, or what it did would be told in another order.  The oldest lines go when it gets
-- longer than {longest_trail} bytes; letters of several bytes are counted as if all of them stood at its end.
(SELECT CASE WHEN octet_length(t.text) <= {longest_trail} THEN t.text
             ELSE substr(r.text, strpos(r.text, chr(10)) + 1) END
   FROM (SELECT {trail} || replace({at_us}::text || ' ' || {event} || ' ' || {detail}, chr(10), ' '::text) || chr(10)
                AS text) AS t
  CROSS JOIN LATERAL (SELECT right(t.text, greatest(0, {longest_trail} - octet_length(t.text) + length(t.text))) AS text)
        AS r)
