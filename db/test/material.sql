-- Keys and certificates by their digests: kept once, never under another name, and erased only when they are old.
SET LOCAL ROLE pinledger_app;
SELECT pinledger.store_material('{public_key,certificate,public_key}', '{key,certificate,key}');
SELECT pinledger.store_material('{certificate}', '{certificate}');
SELECT pinledger.store_material('{}', '{}');
SELECT test.same(string_agg(format('%s %s', kind, convert_from(der, 'UTF8')), ',' ORDER BY kind),
    'certificate certificate,public_key key', 'what is kept') FROM pinledger.material;
SELECT test.same(convert_from(der, 'UTF8'), 'key', 'by its digest') FROM pinledger.material WHERE digest = sha256('key');

SELECT test.refused($$SELECT pinledger.store_material('{request}', '{x}')$$, '23514');
SELECT test.refused($$SELECT pinledger.store_material('{certificate}', '{""}')$$, '23514');
SELECT test.refused($$SELECT pinledger.store_material('{certificate}', ARRAY[convert_to(repeat('x', 131073), 'UTF8')])$$, '23514');
SELECT pinledger.store_material('{certificate}', ARRAY[convert_to(repeat('x', 131072), 'UTF8')]);
SELECT test.refused($$INSERT INTO pinledger.material SELECT * FROM pinledger.material$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.material$$, '42501');
SELECT test.refused($$UPDATE pinledger.material SET der = 'x'$$, '42501');

-- Young bytes stay. Old bytes that are uploaded again count as young.
SELECT test.same(pinledger.erase_material(ARRAY[sha256('key'), sha256('certificate')], 0), 0::bigint, 'young ones');
SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.material SET stored_at = now() - interval '25 hours';
SET LOCAL ROLE pinledger_app;
SELECT pinledger.store_material('{certificate}', '{certificate}');
SELECT test.same(a.outcome, 'appended', 'an old event') FROM test.append('app/a', 0) a;
SELECT test.same(a.outcome, 'appended', 'a young one') FROM test.append('app/a', 1, "time" => now()) a;
SELECT test.same(pinledger.erase_material(ARRAY[sha256('key')], 0), 0::bigint, 'by one who lacks an old event');
SELECT test.same(pinledger.erase_material(ARRAY[sha256('key'), sha256('certificate'), sha256('unknown')], 1), 1::bigint, 'old ones');
SELECT test.same(count(*), 2::bigint, 'what was not named, and what was shown again') FROM pinledger.material;
SELECT test.same(pinledger.erase_material('{}', 2), 0::bigint, 'nothing');

-- Not even the owner can store bytes under another digest.
SET LOCAL ROLE pinledger_owner;
SELECT test.refused($$INSERT INTO pinledger.material VALUES (sha256('a'), 'certificate', 'b')$$, '23514');
SET LOCAL ROLE pinledger_reader;
SELECT test.same(count(*), 2::bigint, 'the reader') FROM pinledger.material;
SELECT test.refused($$SELECT pinledger.store_material('{certificate}', '{x}')$$, '42501');
