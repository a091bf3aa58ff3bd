SET LOCAL ROLE pinledger_owner;

-- When a chain was last seen by a probe that learned of all its address presents. One that could not ask for the other
-- kind of key tells nothing of the chain for that kind. Null where there was none yet.
ALTER TABLE pinledger.observation ADD COLUMN last_complete timestamptz;
UPDATE pinledger.observation SET last_complete = last_seen;

DROP FUNCTION pinledger.record_probe(text, text, timestamptz, integer, bytea, text[], bytea[], bytea[]);

-- Records one probe; p_is_complete says of each chain whether the probe learned of all its address presents. An older one
-- than stands there changes no time back.
CREATE FUNCTION pinledger.record_probe(
    p_endpoint text, p_vantage text, p_at timestamptz, p_failures integer, p_outcome bytea, p_address text[],
    p_chain_sha256 bytea[], p_certificates bytea[], p_is_complete boolean[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO probe AS p (endpoint, vantage, last_attempt, last_success, failures, outcome)
    VALUES (p_endpoint, p_vantage, p_at, CASE WHEN cardinality(p_address) > 0 THEN p_at END, p_failures, p_outcome)
        ON CONFLICT (endpoint, vantage) DO UPDATE
       SET last_attempt = excluded.last_attempt, last_success = coalesce(excluded.last_success, p.last_success),
           failures = excluded.failures, outcome = excluded.outcome
     WHERE excluded.last_attempt > p.last_attempt;

    INSERT INTO observation AS o
           (endpoint, vantage, address, chain_sha256, certificates, first_seen, last_seen, last_complete, times)
    SELECT p_endpoint, p_vantage, n.address, n.chain_sha256, n.certificates, p_at, p_at,
           CASE WHEN n.is_complete THEN p_at END, 1
      FROM unnest(p_address, p_chain_sha256, p_certificates, p_is_complete)
           n (address, chain_sha256, certificates, is_complete)
     ORDER BY 3, 4
        ON CONFLICT (endpoint, vantage, address, chain_sha256) DO UPDATE
       SET first_seen = least(o.first_seen, excluded.first_seen), last_seen = greatest(o.last_seen, excluded.last_seen),
           last_complete = greatest(o.last_complete, excluded.last_complete), times = o.times + 1
$$;

REVOKE ALL ON FUNCTION pinledger.record_probe FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.record_probe TO pinledger_app;
