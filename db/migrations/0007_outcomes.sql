SET LOCAL ROLE pinledger_owner;

-- What clients report of their connections. Not part of the ledger: it is counted, summed up and deleted when it is
-- old. Install ids and networks are stored only as keyed hashes, with salts that the database does not know.

-- What one process counted for an app's clients in one minute.
CREATE TABLE pinledger.outcome_minute (
    app           text        COLLATE "C" NOT NULL,
    minute        timestamptz NOT NULL,
    -- Whether the reports were signed with a key of the app.
    authenticated boolean     NOT NULL,
    -- The process. Each has rows of its own and replaces them whole.
    node          text        COLLATE "C" NOT NULL CHECK (octet_length(node) <= 32),
    -- One in 2^level installs is counted.
    level         integer     NOT NULL CHECK (level BETWEEN 0 AND 32),
    -- Hosts, arms and versions with their counts, and versions of the app, in JSON.
    content       bytea       NOT NULL CHECK (octet_length(content) <= 4194304),
    -- Installs that reported for the first time in their hour, 16 bytes each.
    units         bytea       NOT NULL CHECK (octet_length(units) % 16 = 0 AND octet_length(units) <= 4194304),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app, minute, authenticated, node)
) WITH (fillfactor = 70);
CREATE INDEX outcome_minute_minute ON pinledger.outcome_minute USING brin (minute) WITH (pages_per_range = 16);
GRANT SELECT ON pinledger.outcome_minute TO pinledger_app, pinledger_reader;

-- Replaces the rows that a process wrote before.
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
GRANT EXECUTE ON FUNCTION pinledger.record_outcomes TO pinledger_app;

-- Deletes what is older than p_before, at most ten thousand rows a call, and nothing of the last two days. Skips what
-- another node is deleting. There is no default: operators set how long reports are kept. Returns how many rows it
-- deleted.
CREATE FUNCTION pinledger.forget_outcomes(p_before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM outcome_minute WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM outcome_minute WHERE minute < least(p_before, now() - interval '2 days')
             LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_outcomes TO pinledger_app;
