SET LOCAL ROLE pinledger_owner;

-- The nodes that share the database, each as it last reported itself. Not part of the ledger: operators read here which
-- programs run, and while an earlier one does, nothing begins that it could not work with.

CREATE TABLE pinledger.node (
    -- Drawn at random by each process: 32 hexadecimal digits.
    id             text        COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
    -- The machine's name and the process's number.
    name           text        COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 300),
    -- The version of its program, the last migration and the highest feature level that this one knows.
    program        text        COLLATE "C" NOT NULL CHECK (octet_length(program) BETWEEN 1 AND 100),
    schema_version integer     NOT NULL CHECK (schema_version > 0),
    feature_level  bigint      NOT NULL CHECK (feature_level > 0),
    is_read_only   boolean     NOT NULL,
    state          text        COLLATE "C" NOT NULL CHECK (octet_length(state) BETWEEN 1 AND 30),
    -- The number of events that it has taken in.
    position       bigint      NOT NULL CHECK (position >= 0),
    started_at     timestamptz NOT NULL,
    seen_at        timestamptz NOT NULL
-- Every node changes its row all the time: most of those changes fit beside the earlier ones and touch no index (HOT).
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
GRANT SELECT ON pinledger.node TO pinledger_app, pinledger_reader;

-- Keeps what a node reports of itself. At most 1000 nodes are kept: where they are so many, those that have been silent for a
-- minute make room, and a further one goes unseen.
CREATE FUNCTION pinledger.report_node(
    p_id text, p_name text, p_program text, p_schema_version integer, p_feature_level bigint, p_is_read_only boolean,
    p_state text, p_position bigint
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM node WHERE seen_at < now() - interval '1 minute' AND (SELECT count(*) FROM node) >= 1000;
    INSERT INTO node AS n (id, name, program, schema_version, feature_level, is_read_only, state, position, started_at, seen_at)
    SELECT p_id, p_name, p_program, p_schema_version, p_feature_level, p_is_read_only, p_state, p_position,
           clock_timestamp(), clock_timestamp()
     WHERE EXISTS (SELECT FROM node WHERE id = p_id) OR (SELECT count(*) FROM node) < 1000
        ON CONFLICT (id) DO UPDATE
       SET state = excluded.state, position = excluded.position, seen_at = excluded.seen_at
$$;
GRANT EXECUTE ON FUNCTION pinledger.report_node TO pinledger_app, pinledger_reader;

-- True for a node that was last seen then and counts as running. One that was seen in the future, by a clock that has been put right
-- since, does not.
CREATE FUNCTION pinledger.is_live(p_seen_at timestamptz) RETURNS boolean LANGUAGE sql STABLE
AS $$ SELECT p_seen_at BETWEEN now() - interval '1 minute' AND now() + interval '1 minute' $$;
GRANT EXECUTE ON FUNCTION pinledger.is_live TO pinledger_app, pinledger_reader;

-- Removes a node that stops.
CREATE FUNCTION pinledger.forget_node(p_id text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM node WHERE id = p_id
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_node TO pinledger_app;

-- Removes nodes that have not reported for a day, and those that were seen in the future, by a clock that has been put right
-- since.
CREATE FUNCTION pinledger.forget_nodes() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM node WHERE seen_at NOT BETWEEN now() - interval '1 day' AND now() + interval '1 day'
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_nodes TO pinledger_app;
