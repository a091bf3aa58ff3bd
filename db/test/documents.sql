-- pinledger.publish_documents: what is served never goes back, and one version never has two contents.
SET LOCAL ROLE pinledger_app;

CREATE FUNCTION pg_temp.publish(app text, version bigint, content text, "time" timestamptz, body text DEFAULT 'b')
RETURNS text[] LANGUAGE sql AS $$
    SELECT pinledger.publish_documents(ARRAY[app], ARRAY[version], ARRAY[version], ARRAY[sha256(convert_to(content, 'UTF8'))],
        ARRAY["time"], ARRAY["time" + interval '1 day'], ARRAY['kid'], ARRAY[convert_to(body, 'UTF8')])
$$;

SELECT test.same(pg_temp.publish('a', 5, 'five', '2026-01-05'), ARRAY['a'], 'the first');
SELECT test.same(pg_temp.publish('a', 5, 'five', '2026-01-05', 'other'), ARRAY[]::text[], 'the same once more');
SELECT test.same(pg_temp.publish('a', 4, 'four', '2026-01-09'), ARRAY[]::text[], 'an older version, signed later');
SELECT test.same(pg_temp.publish('a', 5, 'five', '2026-01-04'), ARRAY[]::text[], 'the version, signed earlier');
SELECT test.same(pg_temp.publish('a', 5, 'five', '2026-01-06', 'fresh'), ARRAY['a'], 'the version, signed later');
SELECT test.same(convert_from(body, 'UTF8'), 'fresh', 'what stands there') FROM pinledger.document WHERE app = 'a';
SELECT test.same(pg_temp.publish('a', 6, 'six', '2026-01-01'), ARRAY['a'], 'a newer version of a slow clock');

SELECT test.refused($$SELECT pg_temp.publish('a', 6, 'other', '2026-02-01')$$, 'PL003');
SELECT test.refused($$SELECT pg_temp.publish('a', 6, 'other', '2020-02-01')$$, 'PL003');

-- Several at once: a clash fails all of them; what is passed over fails nobody.
SELECT test.refused($$SELECT pinledger.publish_documents('{a,b}', '{6,1}', '{6,1}', ARRAY[sha256('x'), sha256('y')],
    '{2026-03-01,2026-03-01}', '{2026-03-02,2026-03-02}', '{k,k}', '{b,b}')$$, 'PL003');
SELECT test.same(count(*), 0::bigint, 'nothing of it') FROM pinledger.document WHERE app = 'b';
SELECT test.same(
    pinledger.publish_documents('{b,a}', '{1,3}', '{1,3}', ARRAY[sha256('y'), sha256('z')], '{2026-03-01,2026-03-01}',
        '{2026-03-02,2026-03-02}', '{k,k}', '{b,b}'),
    ARRAY['b'], 'the new one, not the old one');
SELECT test.same(pinledger.publish_documents('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'), ARRAY[]::text[], 'nothing');

SELECT test.refused($$INSERT INTO pinledger.document SELECT * FROM pinledger.document$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.document$$, '42501');
