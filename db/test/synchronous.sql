-- Sessions that require a synchronous standby confirm nothing on a server without one.
SET LOCAL ROLE pinledger_app;

SELECT test.same(a.outcome, 'appended', 'no session requires it by itself') FROM test.append('app/a', 0) a;
SET LOCAL pinledger.require_synchronous = on;
SELECT test.refused($$SELECT test.append('app/a', 1)$$, 'PL006');
SELECT test.refused($$SELECT test.append('app/a', 1, 0, 'k')$$, 'PL006');
SELECT test.refused($$SELECT pinledger.lock_head()$$, 'PL006');
SELECT test.refused($$SELECT pinledger.rehearse_append()$$, 'PL006');
SET LOCAL pinledger.require_synchronous = off;
SELECT test.same(a.outcome, 'appended', 'off again') FROM test.append('app/a', 1) a;
