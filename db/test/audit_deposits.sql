-- Deposits of read-only nodes: kept up to a limit, leased once, and gone when they are settled.
SET LOCAL ROLE pinledger_reader;
SELECT test.same(pinledger.deposit_audit('host:1', '[]', 3), true, 'deposited');
SELECT test.same(pinledger.deposit_audit('host:1', '[1]', 0), true, 'deposited too');
SELECT test.refused($$SELECT pinledger.deposit_audit('', '[]', 0)$$, '23514');
SELECT test.refused($$SELECT pinledger.deposit_audit('x', '[]', -1)$$, '23514');
SELECT test.refused($$SELECT pinledger.deposit_audit('x', convert_to(repeat('x', 49153), 'UTF8'), 0)$$, '23514');
SELECT test.refused($$SELECT pinledger.deposit_audit('x', '[]', 9007199254740992)$$, '23514');
SELECT test.refused($$SELECT * FROM pinledger.lease_audit_deposits(9)$$, '42501');
SELECT test.refused($$SELECT pinledger.settle_audit_deposit(1)$$, '42501');
SELECT test.refused($$SELECT count(*) FROM pinledger.audit_deposit$$, '42501');
RESET ROLE;
SET LOCAL ROLE pinledger_app;
SELECT test.refused($$DELETE FROM pinledger.audit_deposit$$, '42501');
SELECT test.same(string_agg(node || omitted || convert_from(records, 'UTF8'), ' ' ORDER BY id), 'host:13[] host:10[1]', 'leased')
  FROM pinledger.lease_audit_deposits(9);
SELECT test.same(count(*), 0::bigint, 'leased once') FROM pinledger.lease_audit_deposits(9);
SELECT pinledger.settle_audit_deposit(min(id)) FROM pinledger.audit_deposit;
RESET ROLE;
SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.audit_deposit SET leased_until = now() - interval '1 second';
SET LOCAL ROLE pinledger_app;
SELECT test.same(string_agg(convert_from(records, 'UTF8'), ' '), '[1]', 'leased again') FROM pinledger.lease_audit_deposits(9);
RESET ROLE;
SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.audit_deposit SET leased_until = now() + interval '100 days';
SET LOCAL ROLE pinledger_app;
SELECT test.same(count(*), 1::bigint, 'leased by a clock that was ahead') FROM pinledger.lease_audit_deposits(9);
SELECT test.same(count(*) FILTER (WHERE pinledger.deposit_audit('n', '[]', 0)), 999::bigint, 'the most') FROM generate_series(1, 1005);
