SET LOCAL ROLE pinledger_owner;

-- What probes saw: evidence of what servers present, never a reason to trust it. Not part of the ledger: it can be
-- observed again at any time, and is deleted when it is old.

-- One chain of certificates that one address of an endpoint presented.
CREATE TABLE pinledger.observation (
    endpoint      text        COLLATE "C" NOT NULL CHECK (octet_length(endpoint) <= 300),
    -- The place in the network that the probe was sent from.
    vantage       text        COLLATE "C" NOT NULL CHECK (octet_length(vantage) <= 64),
    address       text        COLLATE "C" NOT NULL CHECK (octet_length(address) <= 64),
    -- SHA-256 of the concatenated certificates in DER.
    chain_sha256  bytea       NOT NULL CHECK (octet_length(chain_sha256) = 32),
    -- What is known of the certificates, the server's own first: a JSON array in canonical form.
    certificates  bytea       NOT NULL CHECK (octet_length(certificates) <= 262144),
    -- Times are recorded in events, as those of four-digit years.
    first_seen    timestamptz NOT NULL CHECK (first_seen >= '1970-01-01Z' AND first_seen < '10000-01-01Z'),
    last_seen     timestamptz NOT NULL CHECK (last_seen >= '1970-01-01Z' AND last_seen < '10000-01-01Z'),
    times         bigint      NOT NULL,
    -- When a probe last saw the chain and also learned everything else that its address presents; NULL if none did. A
    -- probe that could not ask for the other kind of key says nothing about the chain for that kind.
    last_complete timestamptz CHECK (last_complete >= '1970-01-01Z' AND last_complete < '10000-01-01Z'),
    PRIMARY KEY (endpoint, vantage, address, chain_sha256)
) WITH (fillfactor = 80);
CREATE INDEX observation_last_seen ON pinledger.observation USING brin (last_seen) WITH (pages_per_range = 16);
GRANT SELECT ON pinledger.observation TO pinledger_app, pinledger_reader;

-- The newest probe of an endpoint from one place.
CREATE TABLE pinledger.probe (
    endpoint     text        COLLATE "C" NOT NULL CHECK (octet_length(endpoint) <= 300),
    vantage      text        COLLATE "C" NOT NULL CHECK (octet_length(vantage) <= 64),
    last_attempt timestamptz NOT NULL CHECK (last_attempt >= '1970-01-01Z' AND last_attempt < '10000-01-01Z'),
    last_success timestamptz CHECK (last_success >= '1970-01-01Z' AND last_success < '10000-01-01Z'),
    -- Consecutive attempts without an answer.
    failures     integer     NOT NULL CHECK (failures >= 0),
    -- What the newest attempt found at each address: a JSON object in canonical form.
    outcome      bytea       NOT NULL CHECK (octet_length(outcome) <= 65536),
    PRIMARY KEY (endpoint, vantage)
) WITH (fillfactor = 70);
GRANT SELECT ON pinledger.probe TO pinledger_app, pinledger_reader;

-- Records one probe. p_is_complete says for each chain whether the probe learned everything that its address presents.
-- A probe older than the recorded one moves no time back.
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
GRANT EXECUTE ON FUNCTION pinledger.record_probe TO pinledger_app;

-- When the authority of a certificate that probes saw suggests to renew it (RFC 9773).
CREATE TABLE pinledger.renewal (
    -- SHA-256 of the certificate in DER.
    certificate  bytea       PRIMARY KEY CHECK (octet_length(certificate) = 32),
    window_start timestamptz NOT NULL CHECK (window_start >= '1970-01-01Z'),
    window_end   timestamptz NOT NULL CHECK (window_start < window_end AND window_end < '10000-01-01Z'),
    -- A page of the authority about it.
    explanation  text        COLLATE "C" CHECK (octet_length(explanation) <= 500),
    asked_at     timestamptz NOT NULL CHECK (asked_at >= '1970-01-01Z' AND asked_at < '10000-01-01Z')
);
CREATE INDEX renewal_asked_at ON pinledger.renewal (asked_at);
GRANT SELECT ON pinledger.renewal TO pinledger_app, pinledger_reader;

-- Records an authority's answer. An answer older than the recorded one changes nothing.
CREATE FUNCTION pinledger.record_renewal(
    p_certificate bytea, p_start timestamptz, p_end timestamptz, p_explanation text, p_asked_at timestamptz
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO renewal AS r (certificate, window_start, window_end, explanation, asked_at)
    VALUES (p_certificate, p_start, p_end, p_explanation, p_asked_at)
        ON CONFLICT (certificate) DO UPDATE
       SET window_start = excluded.window_start, window_end = excluded.window_end, explanation = excluded.explanation,
           asked_at = excluded.asked_at
     WHERE excluded.asked_at > r.asked_at
$$;
GRANT EXECUTE ON FUNCTION pinledger.record_renewal TO pinledger_app;

-- Deletes what was last seen before p_before, and never what was seen in the last thirty days.
CREATE FUNCTION pinledger.forget_observations(p_before timestamptz DEFAULT now() - interval '90 days')
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM observation WHERE last_seen < least(p_before, now() - interval '30 days');
    DELETE FROM probe WHERE last_attempt < least(p_before, now() - interval '30 days');
    DELETE FROM renewal WHERE asked_at < least(p_before, now() - interval '30 days')
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_observations TO pinledger_app;
