-- The feeds of webhooks and their deliveries: what is leased, in which order, and which attempt may settle it.
SET LOCAL ROLE pinledger_app;

CREATE FUNCTION pg_temp.lease(slots integer DEFAULT 10) RETURNS bigint[] LANGUAGE sql AS $$
    SELECT array_agg(l.position ORDER BY l.position) FROM pinledger.lease_deliveries('{w}', ARRAY[slots], 30, 'n') l
$$;

-- A feed begins behind the event that made the webhook; there is none without that event.
SELECT test.append('app/a', 0, 1);
SELECT pinledger.open_webhook('w', 1);
SELECT test.same(count(*), 0::bigint, 'a feed of no event') FROM pinledger.webhook_feed;
SELECT pinledger.append(h.next_position, h.frontier, decode(repeat('ab', 32), 'hex'), '2026-01-01', '{webhooks}', '{1}',
    '{WebhookCreated}', '{token}', '{t}', '{entry}', '{}', '{}', '{}', '{webhooks}', '{0}', '{1}',
    ARRAY[h.next_position], '{}', '{}', '{}', '{}', '{}') FROM pinledger.head h;
SELECT pinledger.open_webhook('w', 1), pinledger.open_webhook('w', 1);
SELECT test.same(f.cursor, 2::bigint, 'where it begins') FROM pinledger.webhook_feed f;

-- It takes what is there, once, and nothing beyond the ledger.
SELECT test.append('app/a', 1, 2), test.append('app/b', 0, 2), test.append('app/c', 0, 1);
SELECT test.same(pinledger.feed_webhook('w', 3, '{}', '{}', 100), 3::bigint, 'up to what the node has verified');
SELECT test.same(pinledger.feed_webhook('w', 3, '{}', '{}', 100), 3::bigint, 'once more');
SELECT test.same(pinledger.feed_webhook('w', 9999, '{}', '{app/a,app/b}', 100), 7::bigint, 'up to the end');
SELECT test.same(pinledger.feed_webhook('x', 9999, '{}', '{}', 100), NULL::bigint, 'no such feed');
SELECT test.same(array_agg(d.position ORDER BY d.position), ARRAY[2, 3, 4, 5]::bigint[], 'deliveries')
  FROM pinledger.webhook_delivery d;

-- The first of each stream, and nothing else of it while that is leased.
SELECT test.same(pg_temp.lease(1), ARRAY[2]::bigint[], 'as many as there are slots');
SELECT test.same(pg_temp.lease(), ARRAY[4]::bigint[], 'the other stream');
SELECT test.same(pg_temp.lease(), NULL::bigint[], 'nothing is left');
SELECT pinledger.settle_delivery('w', 2, 1, 'delivered', 0, 200, NULL);
SELECT test.same(pg_temp.lease(), ARRAY[3]::bigint[], 'the next one');

-- Only the newest attempt settles, and only once.
SELECT pinledger.settle_delivery('w', 3, 7, 'dead', 0, 500, 'x'), pinledger.settle_delivery('w', 2, 1, 'dead', 0, 500, 'x');
SELECT test.same(string_agg(d.state, ',' ORDER BY d.position), 'delivered,pending,pending,pending', 'states')
  FROM pinledger.webhook_delivery d;
SELECT test.same(pinledger.settle_delivery('w', 3, 1, 'failed', 60, 500, repeat('x', 900)) IS NOT NULL, true, 'failing');
SELECT test.same(char_length(d.last_error), 500, 'the error is cut'), test.same(d.state, 'failed', 'its state')
  FROM pinledger.webhook_delivery d WHERE d.position = 3;
SELECT test.same(pg_temp.lease(), NULL::bigint[], 'it waits');
SELECT test.refused($$SELECT pinledger.settle_delivery('w', 4, 1, 'lost', 0, 200, NULL)$$, '23514');

-- Neither a lease nor a delay counts that a clock has written which was ahead.
RESET ROLE;
SAVEPOINT present;
SET LOCAL ROLE pinledger_owner;
UPDATE pinledger.webhook_delivery d SET created_at = d.created_at + days, first_attempt_at = d.first_attempt_at + days,
    last_attempt_at = d.last_attempt_at + days, next_attempt_at = d.next_attempt_at + days, lease_until = d.lease_until + days
  FROM (SELECT interval '100 days' AS days) ahead;
SET LOCAL ROLE pinledger_app;
SELECT test.same(pg_temp.lease(), ARRAY[3, 4]::bigint[], 'what was leased, and what waited');
SELECT test.same(pg_temp.lease(), NULL::bigint[], 'leased by the present clock');
SELECT pinledger.settle_delivery('w', 3, 2, 'failed', 60, 500, 'x');
SELECT test.same(pg_temp.lease(), NULL::bigint[], 'it waits as always');
ROLLBACK TO SAVEPOINT present;
SET LOCAL ROLE pinledger_app;

-- Settled and waiting deliveries are replayed, those under way are not.
SELECT test.same(pinledger.replay_deliveries('w', 0, 100, false, '{}', '{}'), 3::bigint, 'replayed');
SELECT test.same(pg_temp.lease(), ARRAY[2]::bigint[], 'the first of its stream again');
SELECT test.same(pinledger.replay_deliveries('w', 0, 100, true, '{}', '{app/c}'), 1::bigint, 'what passes the filters');
SELECT test.same(pinledger.replay_deliveries('x', 0, 100, true, '{}', '{}'), 0::bigint, 'of no webhook');

SELECT test.same(pinledger.forget_deliveries(now() + interval '1 year'), 0::bigint, 'nothing of the last day is forgotten');
SELECT test.same(pinledger.close_webhook('w'), true, 'closed');
SELECT test.same(count(*), 0::bigint, 'what is left') FROM pinledger.webhook_delivery;

SELECT test.refused($$UPDATE pinledger.webhook_feed SET cursor = 9$$, '42501');
SELECT test.refused($$DELETE FROM pinledger.webhook_delivery$$, '42501');
