SET LOCAL ROLE pinledger_owner;

-- What each process saw of an app's clients in each minute. Never the id of an install: keyed hashes, and of networks too.
-- Not part of the ledger: it is counted, summed up and forgotten.
CREATE TABLE pinledger.outcome_minute (
    app           text        NOT NULL,
    minute        timestamptz NOT NULL,
    -- Whether the reports were signed with a key of the app.
    authenticated boolean     NOT NULL,
    -- Of one process; each has rows of its own, which it writes whole.
    node          text        NOT NULL CHECK (octet_length(node) <= 32),
    -- One of 2^level installs is counted.
    level         integer     NOT NULL CHECK (level BETWEEN 0 AND 32),
    -- Hosts, arms and versions with their counts, and versions of the app, in JSON.
    content       bytea       NOT NULL,
    -- Installs that reported for the first time in their hour, 16 bytes each.
    units         bytea       NOT NULL CHECK (octet_length(units) % 16 = 0),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app, minute, authenticated, node)
) WITH (fillfactor = 70);
CREATE INDEX outcome_minute_minute ON pinledger.outcome_minute USING brin (minute) WITH (pages_per_range = 16);

-- What installs and networks are hashed with: the same on every node, or they could not be told apart.
CREATE TABLE pinledger.telemetry_salt (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    salt      bytea   NOT NULL CHECK (octet_length(salt) = 32)
);
INSERT INTO pinledger.telemetry_salt
VALUES (true, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- What reports are signed with, sealed under a key that the database does not know. Not in the ledger, because what is in
-- the ledger can never be erased.
CREATE TABLE pinledger.telemetry_secret (
    secret     text        PRIMARY KEY,
    app        text        NOT NULL,
    kek_id     text        NOT NULL,
    nonce      bytea       NOT NULL,
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Puts a process's rows in the place of those it wrote before.
CREATE FUNCTION pinledger.record_outcomes(
    p_node text, p_app text[], p_authenticated boolean[], p_minute timestamptz[], p_level integer[], p_content bytea[],
    p_units bytea[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO outcome_minute AS o (app, minute, authenticated, node, level, content, units)
    SELECT app, minute, authenticated, p_node, level, content, units
      FROM unnest(p_app, p_minute, p_authenticated, p_level, p_content, p_units)
        AS r (app, minute, authenticated, level, content, units)
     ORDER BY 1, 2, 3
        ON CONFLICT (app, minute, authenticated, node) DO UPDATE
       SET level = excluded.level, content = excluded.content, units = excluded.units, changed_at = clock_timestamp()
$$;

-- Forgets what is older than so, and nothing of the last two days; but for what another node is forgetting right now. Some
-- thousand rows at a time; says how many.
CREATE FUNCTION pinledger.forget_outcomes(p_before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM outcome_minute WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM outcome_minute WHERE minute < least(p_before, now() - interval '2 days')
             LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

CREATE FUNCTION pinledger.store_telemetry_secret(
    p_secret text, p_app text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO telemetry_secret (secret, app, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_app, p_kek_id, p_nonce, p_ciphertext)
$$;

CREATE FUNCTION pinledger.erase_telemetry_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM telemetry_secret s WHERE s.secret = p_secret
$$;

-- Erases all secrets but those named, and those of the last day: the ledger may not have come to name them yet.
CREATE FUNCTION pinledger.erase_telemetry_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM telemetry_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.record_outcomes, pinledger.forget_outcomes, pinledger.store_telemetry_secret,
    pinledger.erase_telemetry_secret, pinledger.erase_telemetry_secrets_except TO pinledger_app;
GRANT SELECT ON pinledger.outcome_minute, pinledger.telemetry_salt TO pinledger_app, pinledger_reader;
GRANT SELECT ON pinledger.telemetry_secret TO pinledger_app;
