SET LOCAL ROLE pinledger_owner;

-- What probes saw: evidence of what servers present, never a reason to trust it. Not part of the ledger: it can be seen
-- again at any time, and is forgotten.

-- One chain of certificates that one address of an endpoint presented.
CREATE TABLE pinledger.observation (
    endpoint     text        NOT NULL CHECK (octet_length(endpoint) <= 300),
    -- The place in the network from which it was seen.
    vantage      text        NOT NULL CHECK (octet_length(vantage) <= 64),
    address      text        NOT NULL CHECK (octet_length(address) <= 64),
    -- SHA-256 of the certificates in DER, one behind the other.
    chain_sha256 bytea       NOT NULL CHECK (octet_length(chain_sha256) = 32),
    -- What is known of the certificates, the server's own first: a JSON array in canonical form.
    certificates bytea       NOT NULL CHECK (octet_length(certificates) <= 262144),
    first_seen   timestamptz NOT NULL,
    last_seen    timestamptz NOT NULL,
    times        bigint      NOT NULL,
    PRIMARY KEY (endpoint, vantage, address, chain_sha256)
) WITH (fillfactor = 80);
CREATE INDEX observation_last_seen ON pinledger.observation USING brin (last_seen) WITH (pages_per_range = 16);

-- The newest probe of an endpoint from one place.
CREATE TABLE pinledger.probe (
    endpoint     text        NOT NULL CHECK (octet_length(endpoint) <= 300),
    vantage      text        NOT NULL CHECK (octet_length(vantage) <= 64),
    last_attempt timestamptz NOT NULL,
    last_success timestamptz,
    -- Attempts in a row without an answer.
    failures     integer     NOT NULL CHECK (failures >= 0),
    -- What the newest attempt found at which address: a JSON object in canonical form.
    outcome      bytea       NOT NULL CHECK (octet_length(outcome) <= 65536),
    PRIMARY KEY (endpoint, vantage)
) WITH (fillfactor = 70);

-- Records one probe. An older one than stands there changes no time back.
CREATE FUNCTION pinledger.record_probe(
    p_endpoint text, p_vantage text, p_at timestamptz, p_failures integer, p_outcome bytea, p_address text[],
    p_chain_sha256 bytea[], p_certificates bytea[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO probe AS p (endpoint, vantage, last_attempt, last_success, failures, outcome)
    VALUES (p_endpoint, p_vantage, p_at, CASE WHEN cardinality(p_address) > 0 THEN p_at END, p_failures, p_outcome)
        ON CONFLICT (endpoint, vantage) DO UPDATE
       SET last_attempt = excluded.last_attempt, last_success = coalesce(excluded.last_success, p.last_success),
           failures = excluded.failures, outcome = excluded.outcome
     WHERE excluded.last_attempt > p.last_attempt;

    INSERT INTO observation AS o
           (endpoint, vantage, address, chain_sha256, certificates, first_seen, last_seen, times)
    SELECT p_endpoint, p_vantage, n.address, n.chain_sha256, n.certificates, p_at, p_at, 1
      FROM unnest(p_address, p_chain_sha256, p_certificates) n (address, chain_sha256, certificates)
     ORDER BY 3, 4
        ON CONFLICT (endpoint, vantage, address, chain_sha256) DO UPDATE
       SET first_seen = least(o.first_seen, excluded.first_seen), last_seen = greatest(o.last_seen, excluded.last_seen),
           times = o.times + 1
$$;

-- Forgets what was last seen before so, and nothing of the last thirty days.
CREATE FUNCTION pinledger.forget_observations(p_before timestamptz)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM observation WHERE last_seen < least(p_before, now() - interval '30 days');
    DELETE FROM probe WHERE last_attempt < least(p_before, now() - interval '30 days')
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.record_probe, pinledger.forget_observations TO pinledger_app;
GRANT SELECT ON pinledger.observation, pinledger.probe TO pinledger_app, pinledger_reader;
