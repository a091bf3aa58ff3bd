SET LOCAL ROLE pinledger_owner;

-- How many clients hold which document. Not part of the ledger: it is counted, rolled up and deleted when it is old.
-- Nothing here names a client or an install. Addresses and install ids are hashed with salts that are derived from the
-- key-encryption key, one for each day. The database does not know them: a salt beside its hashes protects nothing when
-- there are 2^24 networks to try.

-- Requests and reports by the hour and by what the clients said.
CREATE TABLE pinledger.adoption_count (
    app         text        COLLATE "C" NOT NULL,
    hour        timestamptz NOT NULL,
    -- The version of the document that the clients held: 0 for none, -1 if they said something else, and -2 - v if they
    -- said v and cannot hold it.
    version     bigint      NOT NULL,
    -- The version of the app: empty if the clients did not say, 'other' if there was no room for it.
    app_version text        COLLATE "C" NOT NULL CHECK (octet_length(app_version) <= 32),
    -- Empty if the clients did not say.
    platform    text        COLLATE "C" NOT NULL CHECK (octet_length(platform) <= 16),
    requests    bigint      NOT NULL,
    reports     bigint      NOT NULL,
    -- How many of both came with an install id.
    identified  bigint      NOT NULL,
    PRIMARY KEY (app, hour, version, app_version, platform)
) WITH (fillfactor = 80);
CREATE INDEX adoption_count_hour ON pinledger.adoption_count USING brin (hour) WITH (pages_per_range = 16);
GRANT SELECT ON pinledger.adoption_count TO pinledger_app, pinledger_reader;

-- Sketches of the installs that were seen with a version: HyperLogLog registers of one byte each. A sketch holds what
-- was seen on its day (UTC) and the next, hashed with the salt of its day.
CREATE TABLE pinledger.adoption_sketch (
    app       text        COLLATE "C" NOT NULL,
    day       timestamptz NOT NULL,
    version   bigint      NOT NULL CHECK (version >= -1),
    registers bytea       NOT NULL CHECK (octet_length(registers) = 2048),
    -- Whether the installs signed their reports with a key of the app. Gates count only these.
    signed    boolean     NOT NULL,
    PRIMARY KEY (app, day, version, signed)
) WITH (fillfactor = 50);
GRANT SELECT ON pinledger.adoption_sketch TO pinledger_app, pinledger_reader;

-- Adds to the stored counts.
CREATE FUNCTION pinledger.add_adoption_counts(
    p_app text[], p_hour timestamptz[], p_version bigint[], p_app_version text[], p_platform text[],
    p_requests bigint[], p_reports bigint[], p_identified bigint[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO adoption_count AS c
    SELECT r.app, r.hour, r.version, r.app_version, r.platform, least(r.requests, 1000000000000000),
           least(r.reports, 1000000000000000), least(r.identified, 1000000000000000)
      FROM unnest(p_app, p_hour, p_version, p_app_version, p_platform, p_requests, p_reports, p_identified)
           r (app, hour, version, app_version, platform, requests, reports, identified)
     -- All nodes write in the same order, so two of them cannot wait for each other.
     ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (app, hour, version, app_version, platform) DO UPDATE
       SET requests = least(c.requests + excluded.requests, 1000000000000000),
           reports = least(c.reports + excluded.reports, 1000000000000000),
           identified = least(c.identified + excluded.identified, 1000000000000000)
$$;
GRANT EXECUTE ON FUNCTION pinledger.add_adoption_counts TO pinledger_app;

-- The larger of each pair of bytes, of two strings that are equally long. All bytes are compared at once, as one string
-- of bits: one by one it takes 70 times as long, and every node does this for every app every ten seconds.
CREATE FUNCTION pinledger.larger_bytes(one bytea, other bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    size CONSTANT int := octet_length(one);
    a CONSTANT varbit := ('x' || encode(one, 'hex'))::varbit;
    b CONSTANT varbit := ('x' || encode(other, 'hex'))::varbit;
    -- What a shift to the right within each byte leaves.
    by_one CONSTANT varbit := ('x' || repeat('7f', size))::varbit;
    by_two CONSTANT varbit := ('x' || repeat('3f', size))::varbit;
    by_four CONSTANT varbit := ('x' || repeat('0f', size))::varbit;
    -- In each byte, the bits in which the two differ; at the end all bits where a is larger, else none.
    mask varbit := a # b;
BEGIN
    -- The highest such bit and all below it.
    mask := mask | ((mask >> 1) & by_one);
    mask := mask | ((mask >> 2) & by_two);
    mask := mask | ((mask >> 4) & by_four);
    -- That bit alone, and only where it is a's: there a is larger.
    mask := mask & ~((mask >> 1) & by_one) & a;
    -- Down to the lowest bit, and from there to all eight.
    mask := mask | ((mask >> 1) & by_one);
    mask := mask | ((mask >> 2) & by_two);
    mask := (mask | ((mask >> 4) & by_four)) & ('x' || repeat('01', size))::varbit;
    mask := mask | (mask << 1);
    mask := mask | (mask << 2);
    mask := mask | (mask << 4);
    -- The sent form begins with the number of bits, in four bytes.
    RETURN substring(varbit_send((a & mask) | (b & ~mask)) FROM 5);
END;
$$;

-- Merges sketches into the stored ones. Merging one twice changes nothing.
CREATE FUNCTION pinledger.merge_adoption_sketches(
    p_app text[], p_day timestamptz[], p_version bigint[], p_signed boolean[], p_registers bytea[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO adoption_sketch AS s (app, day, version, signed, registers)
    SELECT * FROM unnest(p_app, p_day, p_version, p_signed, p_registers)
     ORDER BY 1, 2, 3, 4
        ON CONFLICT (app, day, version, signed) DO UPDATE SET registers = larger_bytes(s.registers, excluded.registers)
     WHERE s.registers <> excluded.registers
$$;
GRANT EXECUTE ON FUNCTION pinledger.merge_adoption_sketches TO pinledger_app;

-- Deletes what is older than p_before, and nothing of the last eight days. Skips what another node is deleting.
CREATE FUNCTION pinledger.forget_adoption(p_before timestamptz DEFAULT now() - interval '35 days')
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM adoption_count WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM adoption_count WHERE hour < least(p_before, now() - interval '8 days')
           FOR UPDATE SKIP LOCKED));
    DELETE FROM adoption_sketch WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM adoption_sketch WHERE day < least(p_before, now() - interval '8 days')
           FOR UPDATE SKIP LOCKED));
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_adoption TO pinledger_app;
