-- No role changes recorded rows: not on the table, not on a partition, not as a replica.
SELECT test.append('app/a', 0, 3);
INSERT INTO pinledger.tree_node VALUES (8, 0, sha256('x'));

CREATE FUNCTION test.refuses_all(state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    leaf text;
BEGIN
    FOREACH leaf IN ARRAY ARRAY['event', 'event_00000000000000', 'tree_node'] LOOP
        PERFORM test.refused(format('DELETE FROM pinledger.%I', leaf), state);
        PERFORM test.refused(format('TRUNCATE pinledger.%I', leaf), state);
    END LOOP;
    PERFORM test.refused('TRUNCATE pinledger.event_00000010000000', state);
    PERFORM test.refused('UPDATE pinledger.event SET type = ''x''', state);
    PERFORM test.refused('UPDATE pinledger.event_00000000000000 SET position = position + 10', state);
    PERFORM test.refused('UPDATE pinledger.tree_node SET index = 1', state);
    PERFORM test.refused('INSERT INTO pinledger.tree_node VALUES (8, 0, sha256(''y'')) '
        'ON CONFLICT (level, index) DO UPDATE SET hash = excluded.hash', state);
END
$$;

SELECT test.refuses_all('23001');
SET LOCAL session_replication_role = replica;
SELECT test.refuses_all('23001');
SET LOCAL session_replication_role = origin;
SET LOCAL ROLE pinledger_owner;
SELECT test.refuses_all('23001');
SET LOCAL ROLE pinledger_app;
SELECT test.refuses_all('42501');
SET LOCAL ROLE pinledger_reader;
SELECT test.refuses_all('42501');

RESET ROLE;
SELECT test.same(count(*), 3::bigint, 'events') FROM pinledger.event;
