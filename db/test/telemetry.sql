-- Reports: a process replaces only its own rows, old rows are forgotten, and only the functions write.
SET LOCAL ROLE pinledger_app;

CREATE FUNCTION pg_temp.record(node text, minute timestamptz, level integer, units bytea) RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.record_outcomes(node, ARRAY['a'], ARRAY[true], ARRAY[minute], ARRAY[level], ARRAY['{}'::bytea],
        ARRAY[units])
$$;

SELECT pg_temp.record('x', '2020-01-05T10:00Z', 0, decode(repeat('00', 16), 'hex')),
       pg_temp.record('y', '2020-01-05T10:00Z', 0, ''), pg_temp.record('x', '2020-01-05T10:01Z', 2, '');
SELECT pg_temp.record('x', '2020-01-05T10:00Z', 1, decode(repeat('01', 32), 'hex'));
SELECT test.same(string_agg(format('%s %s %s', node, level, octet_length(units)), ', ' ORDER BY minute, node),
    'x 1 32, y 0 0, x 2 0', 'each process has its rows') FROM pinledger.outcome_minute;
-- Several at once, those signed apart from those that are not.
SELECT pinledger.record_outcomes('z', '{b,a}', '{true,false}', '{2020-01-05T10:00Z,2020-01-05T10:00Z}', '{0,0}',
    ARRAY['{}', '{}']::bytea[], ARRAY['', '']::bytea[]);
SELECT test.same(count(*), 5::bigint, 'rows') FROM pinledger.outcome_minute;
SELECT test.refused($$SELECT pg_temp.record('x', '2020-01-05Z', 0, 'short')$$, '23514');
SELECT test.refused($$SELECT pg_temp.record('x', '2020-01-05Z', 33, '')$$, '23514');
SELECT pg_temp.record('x', now(), 0, '');

SELECT test.same(pinledger.forget_outcomes('2020-01-05T10:01Z'), 4::bigint, 'what is older is forgotten');
SELECT test.same(pinledger.forget_outcomes(now() + interval '1 day'), 1::bigint, 'but for the last two days');
SELECT test.same(count(*), 1::bigint, 'what is young stays') FROM pinledger.outcome_minute;

SELECT pinledger.store_telemetry_secret('tlk_1', 'a', 'kek', 'n', 'c'), pinledger.store_telemetry_secret('tlk_2', 'a', 'kek', 'n', 'c');
SELECT pinledger.erase_telemetry_secret('tlk_1');
SELECT test.same(pinledger.erase_telemetry_secrets_except('{}'), 0::bigint, 'a young secret stays');
SELECT test.same(string_agg(secret, ','), 'tlk_2', 'secrets') FROM pinledger.telemetry_secret;

-- The salts of addresses are not in the database.
SELECT test.same(count(*), 0::bigint, 'salts') FROM information_schema.tables
 WHERE table_schema = 'pinledger' AND table_name LIKE '%salt%';
SELECT test.refused($$DELETE FROM pinledger.outcome_minute$$, '42501');
SELECT test.refused($$INSERT INTO pinledger.telemetry_secret SELECT * FROM pinledger.telemetry_secret$$, '42501');

-- A reader sees the counts, and cannot find out whose they are.
SET LOCAL ROLE pinledger_reader;
SELECT test.same(count(*), 1::bigint, 'what a reader sees') FROM pinledger.outcome_minute;
SELECT test.refused($$SELECT ciphertext FROM pinledger.telemetry_secret$$, '42501');
