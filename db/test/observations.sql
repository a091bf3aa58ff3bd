-- Observations: an older probe moves no time back, old rows are deleted, and only the functions write.
SET LOCAL ROLE pinledger_app;

CREATE FUNCTION pg_temp.probe(endpoint text, at timestamptz, complete boolean, failures integer DEFAULT 0)
RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.record_probe(endpoint, 'here', at, failures, '{}', '{192.0.2.1}', ARRAY[sha256('chain')],
        ARRAY['[]'::bytea], ARRAY[complete])
$$;

SELECT pg_temp.probe('a:443', '2020-01-02', true), pg_temp.probe('a:443', '2020-01-03', false, 1),
       pg_temp.probe('a:443', '2020-01-01', false, 9);
SELECT test.same(first_seen, '2020-01-01'::timestamptz, 'first'), test.same(last_seen, '2020-01-03'::timestamptz, 'last'),
       test.same(last_complete, '2020-01-02'::timestamptz, 'last complete'), test.same(times, 3::bigint, 'times')
  FROM pinledger.observation;
SELECT test.same(last_attempt, '2020-01-03'::timestamptz, 'the newest attempt'), test.same(failures, 1, 'its failures')
  FROM pinledger.probe;

SELECT pinledger.forget_observations(now() + interval '1 year');
SELECT test.same((SELECT count(*) FROM pinledger.observation) + (SELECT count(*) FROM pinledger.probe), 0::bigint, 'deleted');

-- Nothing of the last thirty days; and without a time, nothing of the last ninety.
SELECT pg_temp.probe('b:443', now() - interval '29 days', true), pg_temp.probe('c:443', now() - interval '89 days', true),
       pg_temp.probe('d:443', now() - interval '91 days', true);
SELECT pinledger.forget_observations();
SELECT test.same(string_agg(endpoint, ' ' ORDER BY endpoint), 'b:443 c:443', 'retention') FROM pinledger.observation;
SELECT test.same(string_agg(endpoint, ' ' ORDER BY endpoint), 'b:443 c:443', 'of probes') FROM pinledger.probe;
SELECT pinledger.forget_observations(now() + interval '1 year');
SELECT test.same(string_agg(endpoint, ' '), 'b:443', 'the least retention') FROM pinledger.observation;

SELECT test.refused($$DELETE FROM pinledger.observation$$, '42501');
SELECT test.refused($$UPDATE pinledger.probe SET failures = 0$$, '42501');

-- Times of observations go into events: those that no event can have are refused.
CREATE FUNCTION pg_temp.probe_at(moment timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT pinledger.record_probe('odd.example.com:443', 'v', moment, 0, '{}', '{192.0.2.1}', ARRAY[sha256('c')], ARRAY['[]'::bytea], '{true}')
$$;
SELECT test.refused(format('SELECT pg_temp.probe_at(%L)', moment), '23514')
  FROM unnest('{1969-12-31 23:59:59Z,10000-01-01Z,294276-12-31Z,infinity,-infinity}'::timestamptz[]) moment;
SELECT pg_temp.probe_at('9999-12-31Z');
SELECT test.refused($$SELECT pinledger.record_renewal(sha256('x'), now(), '10000-01-01Z', NULL, now())$$, '23514');
SELECT test.refused($$SELECT pinledger.record_renewal(sha256('x'), '1969-12-31Z', now(), NULL, now())$$, '23514');

-- What an authority said last stands, and ends with what was observed.
SELECT pinledger.record_renewal(sha256('leaf'), now(), now() + interval '1 day', NULL, now());
SELECT pinledger.record_renewal(sha256('leaf'), now(), now() + interval '2 days', 'https://example.com/', now() - interval '1 hour');
SELECT test.same(window_end - window_start, interval '1 day', 'an older answer changes nothing') FROM pinledger.renewal;
SELECT pinledger.record_renewal(sha256('leaf'), now(), now() + interval '3 days', 'https://example.com/', now() + interval '1 hour');
SELECT test.same(window_end - window_start, interval '3 days', 'a newer answer') FROM pinledger.renewal;
SELECT test.refused($$SELECT pinledger.record_renewal(sha256('x'), now(), now(), NULL, now())$$, '23514');
SELECT test.refused($$SELECT pinledger.record_renewal('x', now(), now() + interval '1 day', NULL, now())$$, '23514');
SELECT test.refused($$DELETE FROM pinledger.renewal$$, '42501');
