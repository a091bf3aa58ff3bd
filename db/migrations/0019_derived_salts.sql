SET LOCAL ROLE pinledger_owner;

-- What addresses and ids are hashed with is derived from the key-encryption key, which the database does not know, and is
-- another one each day. Beside their hashes a salt protects nothing: there are 2^24 networks to try.
DROP TABLE pinledger.adoption_salt;
DROP TABLE pinledger.telemetry_salt;

-- What clients say that they hold and cannot is kept apart: -2 less the version that they said.
ALTER TABLE pinledger.adoption_count DROP CONSTRAINT adoption_count_version_check;

-- Hashed with the salt of their day, in which they hold what was seen on that day and the next. Those of before were
-- hashed with one that everybody could read.
DELETE FROM pinledger.adoption_sketch;
ALTER TABLE pinledger.adoption_sketch
    -- Whether the installs had signed their reports with a key of the app: gates go by these alone.
    ADD COLUMN signed boolean NOT NULL,
    DROP CONSTRAINT adoption_sketch_pkey,
    ADD PRIMARY KEY (app, day, version, signed);

DROP FUNCTION pinledger.merge_adoption_sketches(text[], timestamptz[], bigint[], bytea[]);

-- Merges sketches into those that stand there; merging one twice changes nothing.
CREATE FUNCTION pinledger.merge_adoption_sketches(
    p_app text[], p_day timestamptz[], p_version bigint[], p_signed boolean[], p_registers bytea[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO adoption_sketch AS s (app, day, version, signed, registers)
    SELECT * FROM unnest(p_app, p_day, p_version, p_signed, p_registers)
     ORDER BY 1, 2, 3, 4
        ON CONFLICT (app, day, version, signed) DO UPDATE SET registers = larger_bytes(s.registers, excluded.registers)
     WHERE s.registers <> excluded.registers
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.merge_adoption_sketches TO pinledger_app;
