-- Text is compared by its bytes. The order of another collation comes from a library of the system: a standby or an upgraded machine
-- with another version of it sorts differently, and its look-ups miss rows that are there.
SELECT test.same(string_agg(format('%s.%s', c.relname, a.attname), ', ' ORDER BY c.relname, a.attnum), NULL::text,
    'columns, and parts of indexes, of another collation than "C"')
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'pinledger'::regnamespace AND c.relkind IN ('r', 'p', 'i', 'I') AND NOT a.attisdropped
   AND a.attcollation NOT IN (0, 'pg_catalog."C"'::regcollation);
