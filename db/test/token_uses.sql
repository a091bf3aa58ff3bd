-- Uses of tokens: each network once, the 50 that were used last, and only the functions write.
SET LOCAL ROLE pinledger_reader;

SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000001', 'tok_0000000000000001', 'tok_0000000000000002', 'tok_0000000000000001'],
    ARRAY['192.0.2.0/24', '2001:db8::/48', '192.0.2.0/24', '192.0.2.0/24']);
SELECT test.same(string_agg(token_id || ' ' || network, ', ' ORDER BY token_id, network),
    'tok_0000000000000001 192.0.2.0/24, tok_0000000000000001 2001:db8::/48, tok_0000000000000002 192.0.2.0/24', 'uses')
  FROM pinledger.token_use;

SELECT test.refused($$SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000001'], ARRAY['192.0.2.1/32'])$$, '23514');
SELECT test.refused($$SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000001'], ARRAY['192.0.2.1/24'])$$, '22P02');
SELECT test.refused($$SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000001'], ARRAY[]::text[])$$, '22023');
SELECT test.refused($$SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000001', NULL], ARRAY['192.0.2.0/24', '192.0.2.0/24'])$$, '23502');
SELECT test.refused($$SELECT pinledger.report_token_uses(array_fill('tok_0000000000000001'::text, ARRAY[1001]), array_fill('192.0.2.0/24'::text, ARRAY[1001]))$$,
    '22023');
SELECT test.refused($$SELECT pinledger.report_token_uses(ARRAY['x'], ARRAY['192.0.2.0/24'])$$, '23514');
SELECT test.refused($$SELECT pinledger.forget_token_uses()$$, '42501');
SELECT test.refused($$UPDATE pinledger.token_use SET last_at = now()$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.token_use$$, '42501');

RESET ROLE;
SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.token_use SET first_at = now() - interval '9 days', last_at = now() - interval '2 days';
SET LOCAL ROLE pinledger_app;
-- A use of a known network moves its last time alone.
SELECT pinledger.report_token_uses(ARRAY['tok_0000000000000002'], ARRAY['192.0.2.0/24']);
SELECT test.same(string_agg(token_id || ' ' || (first_at < now() - interval '8 days') || ' ' || (last_at > now() - interval '1 hour'), ', '
    ORDER BY token_id, network), 'tok_0000000000000001 true false, tok_0000000000000001 true false, tok_0000000000000002 true true', 'times')
  FROM pinledger.token_use;
-- Many new networks push out each other, and not those that the token was used from before.
SELECT pinledger.report_token_uses(array_fill('tok_0000000000000001'::text, ARRAY[90]), array_agg(format('10.0.%s.0/24', n))) FROM generate_series(1, 90) n;
SELECT test.same(count(*), 50::bigint, 'the most networks') FROM pinledger.token_use WHERE token_id = 'tok_0000000000000001';
SELECT test.same(count(*), 2::bigint, 'the earlier ones') FROM pinledger.token_use WHERE token_id = 'tok_0000000000000001' AND first_at < now() - interval '1 day';

SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.token_use SET last_at = now() - interval '401 days' WHERE token_id = 'tok_0000000000000001';
SET LOCAL ROLE pinledger_app;
SELECT pinledger.forget_token_uses();
SELECT test.same(string_agg(token_id, ' '), 'tok_0000000000000002', 'forgotten') FROM pinledger.token_use;
