-- The functions that the tests use. They live as long as the transaction that every test file runs in.
SET client_min_messages = warning;
CREATE SCHEMA test;
GRANT USAGE ON SCHEMA test TO PUBLIC;

-- Fails unless the values are the same; NULL is the same as NULL.
CREATE FUNCTION test.same(actual anyelement, expected anyelement, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION '%: got %, expected %', what, actual, expected;
    END IF;
END
$$;

-- Fails unless the statement ends with that SQLSTATE; its effects are undone.
CREATE FUNCTION test.refused(statement text, state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    got text := 'success';
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
        got := SQLSTATE;
    END;
    IF got <> state THEN
        RAISE EXCEPTION '%: got %, expected %', statement, got, state;
    END IF;
END
$$;

-- Appends `count` events to one stream, as a writer would whose head is at `at` (the present one unless given).
CREATE FUNCTION test.append(
    stream text, version bigint, count integer DEFAULT 1, key text DEFAULT NULL, at bigint DEFAULT NULL,
    "time" timestamptz DEFAULT '2026-01-01T00:00:00Z', OUT outcome text, OUT head bigint
) LANGUAGE plpgsql AS $$
DECLARE
    first    bigint;
    frontier bytea;
    grown    bytea;
BEGIN
    SELECT coalesce(at, h.next_position), h.frontier INTO first, frontier FROM pinledger.head h;
    -- It has the right length, and is not the tree's: the function does not compute it.
    grown := decode(repeat('ab', 32 * length(replace((first + count)::bit(63)::text, '0', ''))), 'hex');
    SELECT a.outcome, a.head INTO outcome, head FROM pinledger.append(
        first, frontier, grown, "time",
        array_fill(stream, ARRAY[count]), (SELECT coalesce(array_agg(version + n), '{}') FROM generate_series(1, count) n),
        array_fill('Tested'::text, ARRAY[count]), array_fill('token'::text, ARRAY[count]),
        array_fill('tester'::text, ARRAY[count]), array_fill('entry'::bytea, ARRAY[count]),
        '{}', '{}', '{}',
        CASE WHEN count > 0 THEN ARRAY[stream] ELSE '{}' END, CASE WHEN count > 0 THEN ARRAY[version] ELSE '{}' END,
        CASE WHEN count > 0 THEN ARRAY[version + count] ELSE '{}' END,
        CASE WHEN count > 0 THEN ARRAY[first + count - 1] ELSE '{}' END,
        CASE WHEN key IS NULL THEN '{}' ELSE ARRAY['token:tester'] END,
        CASE WHEN key IS NULL THEN '{}' ELSE ARRAY[key] END,
        CASE WHEN key IS NULL THEN '{}' ELSE ARRAY[sha256(convert_to(key, 'UTF8'))] END,
        CASE WHEN key IS NULL THEN '{}' ELSE ARRAY[first] END,
        CASE WHEN key IS NULL THEN '{}' ELSE ARRAY[count] END
    ) a;
END
$$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA test TO PUBLIC;
