-- Nodes: each changes its own row, at most a thousand are kept, and only the functions write.
SET LOCAL ROLE pinledger_reader;

CREATE FUNCTION pg_temp.report(number integer, state text DEFAULT 'running') RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.report_node(md5(number::text), 'host:' || number, '0.1', 10, 1, true, state, 7)
$$;

SELECT pg_temp.report(1), pg_temp.report(2), pg_temp.report(1, 'draining');
SELECT test.same(string_agg(name || ' ' || state, ', ' ORDER BY name), 'host:1 draining, host:2 running', 'nodes')
  FROM pinledger.node;
SELECT test.refused($$SELECT pinledger.forget_node(md5('1'))$$, '42501');
SELECT test.refused($$SELECT pinledger.forget_nodes()$$, '42501');
RESET ROLE;
SET LOCAL ROLE pinledger_app;
SELECT pinledger.forget_node(md5('1'));
SELECT test.same(string_agg(name, ' '), 'host:2', 'left') FROM pinledger.node;

SELECT test.refused($$SELECT pinledger.report_node('x', 'a', '0.1', 10, 1, true, 'running', 7)$$, '23514');
SELECT test.refused($$SELECT pinledger.report_node(md5('x'), repeat('a', 301), '0.1', 10, 1, true, 'running', 7)$$, '23514');

SELECT count(pg_temp.report(n)) FROM generate_series(1, 1005) n;
SELECT test.same(count(*), 1000::bigint, 'the most') FROM pinledger.node;
SELECT pg_temp.report(2, 'halted');
SELECT test.same(state, 'halted', 'a kept one still reports') FROM pinledger.node WHERE name = 'host:2';

SELECT test.refused($$UPDATE pinledger.node SET feature_level = 9$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.node$$, '42501');

RESET ROLE;
SET LOCAL ROLE pinledger_owner;
-- Those that are silent make room for one that is not.
UPDATE pinledger.node SET seen_at = now() - interval '2 minutes' WHERE name <> 'host:2';
SELECT pg_temp.report(5000);
SELECT test.same(string_agg(name, ' ' ORDER BY name), 'host:2 host:5000', 'room') FROM pinledger.node;
UPDATE pinledger.node SET seen_at = now() - interval '25 hours' WHERE name <> 'host:2';
SET LOCAL ROLE pinledger_app;
SELECT pinledger.forget_nodes();
SELECT test.same(string_agg(name, ' '), 'host:2', 'forgotten') FROM pinledger.node;
