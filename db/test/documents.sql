-- pinledger.publish_documents: served documents never go back, one version never has two contents, and nothing is stored
-- of events that the ledger does not hold.
SET LOCAL ROLE pinledger_app;
SELECT test.append('fleet', 0, 1), test.append('app/a', 0, 6), test.append('app/b', 0, 2);

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

-- Several at once: a clash fails all of them; a skipped document fails none.
SELECT test.refused($$SELECT pinledger.publish_documents('{a,b}', '{6,1}', '{6,1}', ARRAY[sha256('x'), sha256('y')],
    '{2026-03-01,2026-03-01}', '{2026-03-02,2026-03-02}', '{k,k}', '{b,b}')$$, 'PL003');
SELECT test.same(count(*), 0::bigint, 'nothing of it') FROM pinledger.document WHERE app = 'b';
SELECT test.same(
    pinledger.publish_documents('{b,a}', '{1,3}', '{1,3}', ARRAY[sha256('y'), sha256('z')], '{2026-03-01,2026-03-01}',
        '{2026-03-02,2026-03-02}', '{k,k}', '{b,b}'),
    ARRAY['b'], 'the new one, not the old one');
SELECT test.same(pinledger.publish_documents('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'), ARRAY[]::text[], 'nothing');

-- Events that the ledger does not hold. It has nine, and a's streams seven of them.
CREATE FUNCTION pg_temp.of_events(version bigint, "position" bigint, leaf bytea)
RETURNS text[] LANGUAGE sql AS $$
    SELECT pinledger.publish_documents('{a}', ARRAY[version], ARRAY["position"], ARRAY[sha256('seven')], '{2026-03-01}',
        '{2026-03-02}', '{k}', '{b}', ARRAY[leaf])
$$;
SELECT test.refused($$SELECT pg_temp.of_events(7, 10, NULL)$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.of_events(7, 9223372036854775807, NULL)$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.of_events(8, 9, NULL)$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.of_events(9223372036854775807, 9, NULL)$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.of_events(7, 9, sha256('another entry'))$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.of_events(7, 0, sha256('no entry'))$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.publish('c', 2, 'of no app', '2026-03-01')$$, 'PL004');
SELECT test.same(pg_temp.of_events(7, 9, sha256('\x00'::bytea || 'entry'::bytea)), ARRAY['a'], 'of the events that are there');

-- What is no document, by the digest of its body, gives way within its version and never to an older one; unless its
-- version lies beyond its streams, which only a hand can have written.
CREATE FUNCTION pg_temp.instead(version bigint, unfit text) RETURNS text[] LANGUAGE sql AS $$
    SELECT pinledger.publish_documents('{a}', ARRAY[version], '{9}', ARRAY[sha256('sound')], '{2026-01-01}',
        '{2026-01-02}', '{k}', '{sound}', NULL, ARRAY[sha256(convert_to(unfit, 'UTF8'))])
$$;
SELECT test.refused($$SELECT pg_temp.instead(7, 'other')$$, 'PL003');
SELECT test.same(pg_temp.instead(6, 'b'), ARRAY[]::text[], 'an older version');
SELECT test.same(pg_temp.instead(7, 'b'), ARRAY['a'], 'within the version');
RESET ROLE;
UPDATE pinledger.document SET version = 999999999, body = 'garbage' WHERE app = 'a';
SET LOCAL ROLE pinledger_app;
SELECT test.same(pg_temp.instead(7, 'other'), ARRAY[]::text[], 'what was not named');
SELECT test.same(pg_temp.instead(7, 'garbage'), ARRAY['a'], 'in the place of a version beyond the streams');
RESET ROLE;
INSERT INTO pinledger.document
SELECT app, 999999999, position, content_sha256, issued_at, expires_at, kid, 'second' FROM pinledger.document WHERE app = 'a';
SET LOCAL ROLE pinledger_app;
SELECT test.same(pg_temp.instead(7, 'second'), ARRAY['a'], 'in the place of a second document beyond the streams');
SELECT test.same(array_agg(convert_from(body, 'UTF8')), ARRAY['sound'], 'one document') FROM pinledger.document WHERE app = 'a';

-- An event that restores the history after a loss raises what the ledger allows.
RESET ROLE;
DELETE FROM pinledger.document;
SET LOCAL ROLE pinledger_app;
CREATE FUNCTION pg_temp.restore(fleet bigint, entry text) RETURNS text LANGUAGE sql AS $$
    SELECT a.outcome FROM pinledger.head h, pinledger.append(
        h.next_position, h.frontier, decode(repeat('cd', 32 * length(replace((h.next_position + 1)::bit(63)::text, '0', ''))), 'hex'),
        '2026-01-01', '{fleet}', ARRAY[fleet + 1], '{HistoryRestored}', '{local}', '{local}',
        ARRAY[convert_to(entry, 'UTF8')], '{}', '{}', '{}', '{fleet}', ARRAY[fleet], ARRAY[fleet + 1],
        ARRAY[h.next_position], '{}', '{}', '{}', '{}', '{}') a
$$;
SELECT test.refused($$SELECT pg_temp.publish('a', 9, 'nine', '2026-05-01')$$, 'PL004');
SELECT test.same(pg_temp.restore(1, '{"data":{"epoch":1,"raised_by":1000}}'), 'appended', 'the event that restores');
SELECT test.same(raised_by, 1000::bigint, 'the raise') FROM pinledger.head;
SELECT test.refused($$SELECT pg_temp.publish('a', 1009, 'nine', '2026-05-01')$$, 'PL004');
SELECT test.refused($$SELECT pg_temp.restore(2, '{"data":{"raised_by":-2000}}')$$, '23514');
SELECT test.refused($$SELECT pg_temp.restore(2, '{"data":{"raised_by":100000000000000}}')$$, '23514');
SELECT test.refused($$SELECT pg_temp.restore(2, 'no JSON')$$, '22P02');
SELECT test.same(
    pinledger.publish_documents('{a}', '{1008}', '{10}', ARRAY[sha256('nine')], '{2026-05-01}', '{2026-05-02}', '{k}', '{b}'),
    ARRAY['a'], 'a raised version');

-- Nodes read every row, any login's too: what they could not read is refused.
CREATE FUNCTION pg_temp.odd(app text, kid text, issued timestamptz, body bytea) RETURNS text[] LANGUAGE sql AS $$
    SELECT pinledger.publish_documents(ARRAY[app], '{1008}', '{10}', ARRAY[sha256('nine')], ARRAY[issued], '{2027-05-02}', ARRAY[kid], ARRAY[body])
$$;
SELECT test.refused($$SELECT pg_temp.odd('a', repeat(U&'\+01F1E6', 60), '2026-05-02', 'b')$$, '23514');
SELECT test.refused($$SELECT pg_temp.odd('a', repeat('k', 301), '2026-05-02', 'b')$$, '23514');
SELECT test.refused($$SELECT pg_temp.odd('a', 'k', 'infinity', 'b')$$, '23514');
SELECT test.refused($$SELECT pg_temp.odd('a', 'k', '2026-05-02', decode(repeat('00', 4194305), 'hex'))$$, '23514');
-- The fleet's stream alone allows the version.
SELECT test.refused($$SELECT pg_temp.odd('none', 'k', '2026-05-02', 'b')$$, 'PL004');

SELECT test.refused($$INSERT INTO pinledger.document SELECT * FROM pinledger.document$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.document$$, '42501');
