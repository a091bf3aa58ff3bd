-- Requests to vouch: the newest hundred are kept, the first answer counts, and only nodes that may append answer.
SET LOCAL ROLE pinledger_reader;
SELECT test.same(pinledger.ask_to_vouch(sha256('1')), true, 'asked');
SELECT test.same(pinledger.ask_to_vouch(sha256('1')), NULL, 'asked once');
SELECT test.same(pinledger.ask_to_vouch(sha256('2')), true, 'asked too');
SELECT test.refused($$SELECT pinledger.ask_to_vouch('short')$$, '23514');
SELECT test.refused($$SELECT pinledger.answer_vouch(sha256('1'), 'answer')$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.vouch_request$$, '42501');
SELECT test.refused($$SELECT count(*) FROM pinledger.vouch_request$$, '42501');
SELECT test.same(pinledger.is_asked(sha256('1')), true, 'asked for');
SELECT test.same(pinledger.is_asked(sha256('9')), false, 'never asked for');
SELECT test.same(pinledger.vouched(sha256('1')), NULL, 'not answered');
RESET ROLE;
SET LOCAL ROLE pinledger_app;
SELECT test.refused($$UPDATE pinledger.vouch_request SET answer = 'x'$$, '42501');
SELECT test.refused($$SELECT pinledger.answer_vouch(sha256('1'), '')$$, '23514');
SELECT test.refused($$SELECT pinledger.answer_vouch(sha256('1'), convert_to(repeat('x', 1001), 'UTF8'))$$, '23514');
SELECT pinledger.answer_vouch(sha256('1'), 'first'), pinledger.answer_vouch(sha256('1'), 'second'), pinledger.answer_vouch(sha256('3'), 'none');
SELECT test.same(string_agg(coalesce(convert_from(answer, 'UTF8'), '-'), ' ' ORDER BY asked_at), 'first -', 'answers')
  FROM pinledger.vouch_request;
SELECT test.same(convert_from(pinledger.vouched(sha256('1')), 'UTF8'), 'first', 'answered');
SELECT pinledger.withdraw_vouch(sha256('1'));
SELECT test.same(count(*), 1::bigint, 'withdrawn') FROM pinledger.vouch_request;

SELECT count(pinledger.ask_to_vouch(sha256(convert_to('many' || n, 'UTF8')))) FROM generate_series(1, 300) n;
SELECT test.same(count(*), 100::bigint, 'the most') FROM pinledger.vouch_request;
SELECT test.same(count(*), 1::bigint, 'the newest is kept') FROM pinledger.vouch_request WHERE challenge = sha256('many300');
RESET ROLE;
SET LOCAL ROLE pinledger_owner;
-- Also those that a clock asked for that was ahead.
UPDATE pinledger.vouch_request SET asked_at = now() + CASE WHEN challenge = sha256('many300') THEN '1 day' ELSE '-11 minutes' END::interval;
SELECT pinledger.ask_to_vouch(sha256('last'));
SELECT test.same(count(*), 1::bigint, 'old ones are gone') FROM pinledger.vouch_request;
