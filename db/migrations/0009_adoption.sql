SET LOCAL ROLE pinledger_owner;

-- How often clients were seen, by the hour and by what they said: never a client, and never the id of an install. Not
-- part of the ledger: it is counted, rolled up and forgotten.
CREATE TABLE pinledger.adoption_count (
    app         text        NOT NULL,
    hour        timestamptz NOT NULL,
    -- Of the document that the clients held; 0 for none, -1 where they said something else.
    version     bigint      NOT NULL CHECK (version >= -1),
    -- Of the app: empty where the clients did not say, 'other' where there was no room.
    app_version text        NOT NULL CHECK (octet_length(app_version) <= 32),
    -- Empty where the clients did not say.
    platform    text        NOT NULL CHECK (octet_length(platform) <= 16),
    requests    bigint      NOT NULL,
    reports     bigint      NOT NULL,
    -- How many of both came with the id of an install.
    identified  bigint      NOT NULL,
    PRIMARY KEY (app, hour, version, app_version, platform)
) WITH (fillfactor = 80);
CREATE INDEX adoption_count_hour ON pinledger.adoption_count USING brin (hour) WITH (pages_per_range = 16);

-- Sketches of the installs that were seen with a version on a day (UTC): HyperLogLog registers, of one byte each.
CREATE TABLE pinledger.adoption_sketch (
    app       text        NOT NULL,
    day       timestamptz NOT NULL,
    version   bigint      NOT NULL CHECK (version >= -1),
    registers bytea       NOT NULL CHECK (octet_length(registers) = 2048),
    PRIMARY KEY (app, day, version)
) WITH (fillfactor = 50);

-- What the ids of installs are hashed with: the same on every node, or their sketches could not be merged.
CREATE TABLE pinledger.adoption_salt (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    salt      bytea   NOT NULL CHECK (octet_length(salt) = 32)
);
INSERT INTO pinledger.adoption_salt
VALUES (true, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- Adds counts to those that stand there.
CREATE FUNCTION pinledger.add_adoption_counts(
    p_app text[], p_hour timestamptz[], p_version bigint[], p_app_version text[], p_platform text[],
    p_requests bigint[], p_reports bigint[], p_identified bigint[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO adoption_count AS c
    SELECT * FROM unnest(p_app, p_hour, p_version, p_app_version, p_platform, p_requests, p_reports, p_identified)
     -- One order for everybody, so that two nodes cannot wait for each other.
     ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (app, hour, version, app_version, platform) DO UPDATE
       SET requests = c.requests + excluded.requests, reports = c.reports + excluded.reports,
           identified = c.identified + excluded.identified
$$;

-- The larger of each pair of bytes.
CREATE FUNCTION pinledger.larger_bytes(one bytea, other bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN one = other THEN one ELSE (
        SELECT string_agg(
            CASE WHEN get_byte(one, place) >= get_byte(other, place)
                THEN substring(one FROM place + 1 FOR 1) ELSE substring(other FROM place + 1 FOR 1) END,
            ''::bytea ORDER BY place
        ) FROM generate_series(0, octet_length(one) - 1) place
    ) END
$$;

-- Merges sketches into those that stand there; merging one twice changes nothing.
CREATE FUNCTION pinledger.merge_adoption_sketches(
    p_app text[], p_day timestamptz[], p_version bigint[], p_registers bytea[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO adoption_sketch AS s
    SELECT * FROM unnest(p_app, p_day, p_version, p_registers)
     ORDER BY 1, 2, 3
        ON CONFLICT (app, day, version) DO UPDATE SET registers = larger_bytes(s.registers, excluded.registers)
     WHERE s.registers <> excluded.registers
$$;

-- Forgets what is older than so, and nothing of the last eight days; but for what another node is forgetting right now.
CREATE FUNCTION pinledger.forget_adoption(p_before timestamptz)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM adoption_count WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM adoption_count WHERE hour < least(p_before, now() - interval '8 days')
           FOR UPDATE SKIP LOCKED));
    DELETE FROM adoption_sketch WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM adoption_sketch WHERE day < least(p_before, now() - interval '8 days')
           FOR UPDATE SKIP LOCKED));
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.add_adoption_counts, pinledger.merge_adoption_sketches, pinledger.forget_adoption
    TO pinledger_app;
GRANT SELECT ON pinledger.adoption_count, pinledger.adoption_sketch, pinledger.adoption_salt
    TO pinledger_app, pinledger_reader;
