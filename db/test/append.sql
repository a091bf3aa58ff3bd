-- pinledger.append: its outcomes, its errors, and what it leaves.
SET LOCAL ROLE pinledger_app;

SELECT test.same(a.outcome, 'appended', 'first batch'), test.same(a.head, 2::bigint, 'its head')
  FROM test.append('app/a', 0, 2, 'k1') a;
SELECT test.same(h.next_position, 2::bigint, 'head'), test.same(octet_length(h.frontier), 32, 'frontier')
  FROM pinledger.head h;
SELECT test.same(array_agg(e.position ORDER BY e.position), ARRAY[0, 1]::bigint[], 'positions'),
       test.same(array_agg(e.stream_version ORDER BY e.position), ARRAY[1, 2]::bigint[], 'versions'),
       test.same(bool_and(e.leaf_hash = sha256('\x00'::bytea || 'entry'::bytea)), true, 'leaf hashes')
  FROM pinledger.event e;
SELECT test.same(s.version, 2::bigint, 'stream'), test.same(s.last_position, 1::bigint, 'last position')
  FROM pinledger.stream s WHERE name = 'app/a';
SELECT test.same(c.first_position, 0::bigint, 'command'), test.same(c.event_count, 2, 'its events')
  FROM pinledger.command c WHERE key = 'k1';

-- Another writer was first: nothing is written.
SELECT test.same(a.outcome, 'moved', 'a stale position'), test.same(a.head, 2::bigint, 'where it stands')
  FROM test.append('app/a', 2, 1, 'k2', at => 1) a;
SELECT test.same(a.outcome, 'moved', 'another tree')
  FROM pinledger.append(2, repeat('x', 32)::bytea, '', now(), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
       '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') a;
SELECT test.same(count(*), 0::bigint, 'no key of it') FROM pinledger.command WHERE key = 'k2';

-- A known key: nothing is written.
SELECT test.refused($$SELECT test.append('app/a', 2, 1, 'k1')$$, '23505');
SELECT test.same(count(*), 2::bigint, 'no event of it') FROM pinledger.event;

-- A batch without events keeps its key and moves nothing.
SELECT test.same(a.outcome, 'appended', 'no events'), test.same(a.head, 2::bigint, 'the same head')
  FROM test.append('app/a', 2, 0, 'k3') a;
SELECT test.same(c.event_count, 0, 'a no-op') FROM pinledger.command c WHERE key = 'k3';
SELECT test.same(h.next_position, 2::bigint, 'head') FROM pinledger.head h;

-- PL001: the streams are not where the batch says, in either direction, or are not there, or are there already.
SELECT test.refused($$SELECT test.append('app/a', 1)$$, '23505');
SELECT test.refused($$SELECT test.append('app/a', 3)$$, 'PL001');
SELECT test.refused($$SELECT test.append('app/b', 1)$$, 'PL001');
SELECT test.refused($$SELECT test.append('app/a', 0)$$, '23505');
-- PL002: time does not run backwards; standing still it may.
SELECT test.refused($$SELECT test.append('app/a', 2, "time" => '2025-12-31T23:59:59Z')$$, 'PL002');
SELECT test.same(a.outcome, 'appended', 'the same instant') FROM test.append('app/a', 2) a;

-- An entry that does not fit an entry bundle does not fit the table.
SELECT test.refused($$
    SELECT pinledger.append(h.next_position, h.frontier, h.frontier, now(), '{fleet}', '{1}', '{T}', '{token}', '{a}',
        ARRAY[convert_to(repeat('x', 65536), 'UTF8')], '{}', '{}', '{}', '{fleet}', '{0}', '{1}', '{0}', '{}', '{}', '{}', '{}', '{}')
    FROM pinledger.head h$$, '23514');

SELECT test.same(h.next_position, 3::bigint, 'head') FROM pinledger.head h;
SELECT test.same(count(*), 3::bigint, 'events') FROM pinledger.event;

-- MACs: the last event of a batch has it, and the head. From the first one on, batches without one, or of another key, are
-- refused; the end's MAC changes hands only from the present one.
CREATE FUNCTION pg_temp.with_mac(mac bytea, count integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT a.outcome FROM pinledger.head h, pinledger.append(
        h.next_position, h.frontier, decode(repeat('cd', 32 * length(replace((h.next_position + count)::bit(63)::text, '0', ''))), 'hex'),
        h.last_time, array_fill('app/m'::text, ARRAY[count]),
        (SELECT array_agg(coalesce((SELECT s.version FROM pinledger.stream s WHERE s.name = 'app/m'), 0) + n) FROM generate_series(1, count) n),
        array_fill('T'::text, ARRAY[count]), array_fill('token'::text, ARRAY[count]), array_fill('a'::text, ARRAY[count]),
        array_fill('entry'::bytea, ARRAY[count]), '{}', '{}', '{}', '{app/m}',
        ARRAY[coalesce((SELECT s.version FROM pinledger.stream s WHERE s.name = 'app/m'), 0)],
        ARRAY[coalesce((SELECT s.version FROM pinledger.stream s WHERE s.name = 'app/m'), 0) + count],
        ARRAY[h.next_position + count - 1], '{}', '{}', '{}', '{}', '{}', false, $1) a
$$;
SELECT test.same(pg_temp.with_mac(decode(repeat('01', 40), 'hex'), 3), 'appended', 'the first batch with a MAC');
SELECT test.same(array_agg(e.mac IS NULL ORDER BY e.position), ARRAY[true, true, false], 'the last event has it')
  FROM pinledger.event e WHERE e.stream = 'app/m';
SELECT test.same(h.mac, decode(repeat('01', 40), 'hex'), 'the head has it') FROM pinledger.head h;
SELECT test.refused($$SELECT pg_temp.with_mac(NULL)$$, 'PL005');
SELECT test.refused($$SELECT pg_temp.with_mac(decode(repeat('02', 40), 'hex'))$$, 'PL005');
SELECT test.refused($$SELECT pg_temp.with_mac(decode(repeat('01', 39), 'hex'))$$, '23514');
SELECT test.same(pg_temp.with_mac(decode(repeat('01', 8) || repeat('03', 32), 'hex')), 'appended', 'the same key');
SELECT test.same(a.outcome, 'moved', 'a stale position is no other key')
  FROM test.append('app/a', 3, at => 2) a;
SELECT test.same(a.outcome, 'appended', 'a batch without events needs none') FROM test.append('app/a', 3, 0, 'k4') a;

SELECT test.same(pinledger.authenticate_head(h.next_position, decode(repeat('01', 40), 'hex'), decode(repeat('04', 40), 'hex')), false,
       'not from another MAC') FROM pinledger.head h;
SELECT test.same(pinledger.authenticate_head(h.next_position - 1, h.mac, decode(repeat('04', 40), 'hex')), false,
       'not at another position') FROM pinledger.head h;
SELECT test.same(pinledger.authenticate_head(h.next_position, h.mac, NULL), false, 'not to none') FROM pinledger.head h;
SELECT test.same(pinledger.authenticate_head(h.next_position, h.mac, decode(repeat('04', 40), 'hex')), true, 'from the present one')
  FROM pinledger.head h;
SELECT test.same(pg_temp.with_mac(decode(repeat('04', 40), 'hex')), 'appended', 'the new key');
SELECT test.refused($$SELECT pg_temp.with_mac(decode(repeat('01', 40), 'hex'))$$, 'PL005');

-- An entry that is empty would look like one that is pruned.
SELECT test.refused(
    $$SELECT pinledger.append(h.next_position, h.frontier, h.frontier, h.last_time, '{app/e}', '{1}', '{t}', '{token}', '{a}', ARRAY[''::bytea],
        '{}', '{}', '{}', '{app/e}', '{0}', '{1}', ARRAY[h.next_position], '{}', '{}', '{}', '{}', '{}') FROM pinledger.head h$$, '23514');
