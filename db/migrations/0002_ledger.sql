SET LOCAL ROLE pinledger_owner;

-- One row: where the next event goes, and the right edge of the Merkle tree over all before it. Its row lock is what
-- makes positions dense and commits ordered.
CREATE TABLE pinledger.head (
    singleton     boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    next_position bigint      NOT NULL CHECK (next_position >= 0),
    -- Roots of the complete subtrees that make up the tree, largest first, 32 bytes each (one per bit set in
    -- next_position).
    frontier      bytea       NOT NULL CHECK (octet_length(frontier) % 32 = 0),
    last_time     timestamptz NOT NULL
) WITH (fillfactor = 10);

INSERT INTO pinledger.head VALUES (true, 0, '', '1970-01-01T00:00:00Z');

-- The ledger. `entry` is the event, exactly as it is hashed; the other columns repeat parts of it for searching.
CREATE TABLE pinledger.event (
    position       bigint      NOT NULL,
    stream_version bigint      NOT NULL CHECK (stream_version > 0),
    recorded_at    timestamptz NOT NULL,
    stream         text        NOT NULL,
    type           text        NOT NULL,
    actor_kind     text        NOT NULL,
    actor_id       text        NOT NULL,
    -- C2SP tlog-tiles: an entry bundle gives each entry's length in 16 bits.
    entry          bytea       NOT NULL CHECK (octet_length(entry) <= 65535),
    leaf_hash      bytea       NOT NULL CHECK (octet_length(leaf_hash) = 32),
    PRIMARY KEY (position)
) PARTITION BY RANGE (position);

ALTER TABLE pinledger.event ALTER COLUMN entry SET STORAGE MAIN;
CREATE INDEX event_recorded_at ON pinledger.event USING brin (recorded_at);
CREATE INDEX event_type ON pinledger.event (type, position);
CREATE INDEX event_actor ON pinledger.event (actor_id, position);

-- Roots of the full 256-leaf tiles of the Merkle tree: the nodes whose level is a multiple of 8, which is what other
-- nodes and every proof are computed from quickly. Level 0 is event.leaf_hash.
CREATE TABLE pinledger.tree_node (
    level smallint NOT NULL CHECK (level > 0 AND level % 8 = 0),
    index bigint   NOT NULL CHECK (index >= 0),
    hash  bytea    NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (level, index)
);

-- The length of each stream. A partitioned table cannot hold (stream, stream_version) unique over all its partitions,
-- so this table is the authority and an index on each partition the backstop.
CREATE TABLE pinledger.stream (
    name          text   PRIMARY KEY,
    version       bigint NOT NULL CHECK (version > 0),
    last_position bigint NOT NULL
) WITH (fillfactor = 70);

-- Commands that came with an idempotency key, and what they recorded.
CREATE TABLE pinledger.command (
    actor          text        NOT NULL,
    key            text        NOT NULL,
    digest         bytea       NOT NULL CHECK (octet_length(digest) = 32),
    first_position bigint      NOT NULL,
    event_count    integer     NOT NULL CHECK (event_count >= 0),
    recorded_at    timestamptz NOT NULL,
    PRIMARY KEY (actor, key)
);
CREATE INDEX command_recorded_at ON pinledger.command USING brin (recorded_at);

-- The fold of the ledger up to a position, for a quick start. May be deleted at any time.
CREATE TABLE pinledger.snapshot (
    fold_version integer     NOT NULL,
    position     bigint      NOT NULL CHECK (position > 0),
    frontier     bytea       NOT NULL,
    digest       bytea       NOT NULL CHECK (octet_length(digest) = 32),
    body         bytea       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (fold_version, position)
);

CREATE FUNCTION pinledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'append-only: % on % is never allowed', TG_OP, TG_RELID::regclass
        USING ERRCODE = 'restrict_violation';
END
$$;

-- ENABLE ALWAYS: session_replication_role = replica does not switch them off.
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON pinledger.event
    FOR EACH ROW EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.event
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.event ENABLE ALWAYS TRIGGER refuse_change;
ALTER TABLE pinledger.event ENABLE ALWAYS TRIGGER refuse_truncate;

CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON pinledger.tree_node
    FOR EACH ROW EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.tree_node
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.tree_node ENABLE ALWAYS TRIGGER refuse_change;
ALTER TABLE pinledger.tree_node ENABLE ALWAYS TRIGGER refuse_truncate;

-- Makes the partition for positions [low, high). Row triggers are cloned to partitions, TRUNCATE triggers are not.
CREATE FUNCTION pinledger.add_partition(low bigint, high bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    leaf text := 'event_' || lpad(low::text, 14, '0');
BEGIN
    EXECUTE format('CREATE TABLE pinledger.%I PARTITION OF pinledger.event FOR VALUES FROM (%s) TO (%s) '
        'WITH (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0.05)', leaf, low, high);
    EXECUTE format('CREATE UNIQUE INDEX %I ON pinledger.%I (stream, stream_version)', leaf || '_stream', leaf);
    EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.%I '
        'FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change()', leaf);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_truncate', leaf);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_change', leaf);
END
$$;

-- Makes partitions until a whole one lies ahead of the head. No default partition: an event that finds none must fail.
CREATE FUNCTION pinledger.ensure_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    size    CONSTANT bigint := 10000000;
    made    integer := 0;
    wanted  bigint;
    low     bigint := 0;
BEGIN
    -- The lock keeps two servers from making the same partition.
    SELECT next_position INTO wanted FROM head FOR UPDATE;
    WHILE low <= wanted + size LOOP
        IF to_regclass('pinledger.event_' || lpad(low::text, 14, '0')) IS NULL THEN
            PERFORM add_partition(low, low + size);
            made := made + 1;
        END IF;
        low := low + size;
    END LOOP;
    RETURN made;
END
$$;

SELECT pinledger.ensure_partitions();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.ensure_partitions() TO pinledger_app;
GRANT SELECT ON pinledger.head, pinledger.event, pinledger.tree_node, pinledger.stream, pinledger.command,
    pinledger.snapshot TO pinledger_app, pinledger_reader;
