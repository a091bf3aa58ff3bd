-- Adoption: counts add up, sketches are merged byte by byte, old rows are forgotten, and only the functions write.
SET LOCAL ROLE pinledger_app;

CREATE FUNCTION pg_temp.count(app text, hour timestamptz, version bigint, requests bigint)
RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.add_adoption_counts(ARRAY[app], ARRAY[hour], ARRAY[version], ARRAY['1.2.3'], ARRAY['ios'],
        ARRAY[requests], ARRAY[1::bigint], ARRAY[2::bigint])
$$;
CREATE FUNCTION pg_temp.sketch(app text, day timestamptz, version bigint, registers bytea)
RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.merge_adoption_sketches(ARRAY[app], ARRAY[day], ARRAY[version], ARRAY[false], ARRAY[registers])
$$;

SELECT pg_temp.count('a', '2020-01-05T10:00Z', 5, 10), pg_temp.count('a', '2020-01-05T10:00Z', 5, 7),
       pg_temp.count('a', '2020-01-05T11:00Z', 5, 1), pg_temp.count('a', '2020-01-05T10:00Z', 4, 1);
SELECT test.same(string_agg(format('%s %s %s %s', version, requests, reports, identified), ', ' ORDER BY hour, version),
    '4 1 1 2, 5 17 2 4, 5 1 1 2', 'counts add up') FROM pinledger.adoption_count;
-- Several at once; one call may not name a row twice.
SELECT pinledger.add_adoption_counts('{b,a}', '{2020-01-05T10:00Z,2020-01-05T10:00Z}', '{0,-1}', '{"",other}', '{"",""}',
    '{3,4}', '{0,0}', '{0,0}');
SELECT test.same(count(*), 5::bigint, 'rows') FROM pinledger.adoption_count;

SELECT pg_temp.sketch('a', '2020-01-05Z', 5, decode(repeat('0001020300000000', 256), 'hex')),
       pg_temp.sketch('a', '2020-01-05Z', 5, decode(repeat('0300010300000009', 256), 'hex')),
       pg_temp.sketch('a', '2020-01-05Z', 5, decode(repeat('0000000000000000', 256), 'hex'));
SELECT test.same(encode(registers, 'hex'), repeat('0301020300000009', 256), 'the larger of each pair')
  FROM pinledger.adoption_sketch;
SELECT test.refused($$SELECT pg_temp.sketch('a', '2020-01-05Z', 6, 'short')$$, '23514');
-- Every byte with every other.
SET LOCAL ROLE pinledger_owner;
WITH pair AS (
    SELECT set_byte('\x00', 0, a) one, set_byte('\x00', 0, b) other, set_byte('\x00', 0, greatest(a, b)) larger
      FROM generate_series(0, 255) a, generate_series(0, 255) b
), joined AS (
    SELECT string_agg(one, '') one, string_agg(other, '') other, string_agg(larger, '') larger FROM pair
)
SELECT test.same(pinledger.larger_bytes(one, other) = larger, true, 'every pair') FROM joined;
SET LOCAL ROLE pinledger_app;

SELECT pinledger.forget_adoption('2020-01-05T10:30Z');
SELECT test.same(string_agg(format('%s %s', app, version), ', '), 'a 5', 'what is young stays')
  FROM pinledger.adoption_count;
SELECT test.same(count(*), 0::bigint, 'sketches') FROM pinledger.adoption_sketch;

-- Without a time: 35 days.
SELECT pg_temp.count('b', now() - interval '34 days', 1, 1), pg_temp.count('b', now() - interval '36 days', 2, 1);
SELECT pinledger.forget_adoption();
SELECT test.same(string_agg(version::text, ','), '1', 'retention') FROM pinledger.adoption_count WHERE app = 'b';

-- Signed counts stand beside unsigned ones.
SELECT pg_temp.sketch('a', date_trunc('day', now()), 5, decode(repeat('00', 2048), 'hex'));
SELECT pinledger.merge_adoption_sketches('{a}', ARRAY[date_trunc('day', now())], '{5}', '{true}',
    ARRAY[decode(repeat('01', 2048), 'hex')]);
SELECT test.same(string_agg(signed::text, ' ' ORDER BY signed), 'false true', 'signed and not')
  FROM pinledger.adoption_sketch;
-- A version that does not exist.
SELECT pg_temp.count('a', now(), -2 - 109, 1);
-- Counts end somewhere: they are added up.
SELECT pg_temp.count('big', now(), 7, 9223372036854775807), pg_temp.count('big', now(), 7, 9223372036854775807);
SELECT test.same(max(requests), 1000000000000000, 'the largest count') FROM pinledger.adoption_count WHERE app = 'big';
SELECT test.refused($$DELETE FROM pinledger.adoption_count$$, '42501');
SELECT test.refused($$INSERT INTO pinledger.adoption_sketch SELECT * FROM pinledger.adoption_sketch$$, '42501');
