SET LOCAL ROLE pinledger_owner;

-- The ledger: tables that only grow, and the one function that appends to them.

CREATE FUNCTION pinledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'append-only: % on % is never allowed', TG_OP, TG_RELID::regclass
        USING ERRCODE = 'restrict_violation';
END
$$;

-- head ----------------------------------------------------------------------------------------------------------------

-- One row: where the next event goes, and the right edge of the Merkle tree over all events before it. Appends lock
-- this row, so positions have no gaps and commits are in the order of positions.
CREATE TABLE pinledger.head (
    singleton      boolean     NOT NULL DEFAULT true CHECK (singleton),
    next_position  bigint      NOT NULL CHECK (next_position >= 0),
    -- Roots of the complete subtrees that make up the tree, largest first: 32 bytes for each bit set in next_position.
    frontier       bytea       NOT NULL CHECK (octet_length(frontier) % 32 = 0 AND octet_length(frontier) <= 2048),
    last_time      timestamptz NOT NULL,
    -- Who recorded it: the id of a key-encryption key (8 bytes) and the MAC of next_position, last_time and the tree's
    -- root under a key derived from that one (32 bytes). The database cannot compute it. Nodes that have the key take no
    -- event that it does not authenticate. NULL as long as only nodes without a key-encryption key append.
    mac            bytea       CHECK (octet_length(mac) = 40),
    -- What HistoryRestored events have raised the version of every document by. Versions stay below 10^15.
    raised_by      bigint      NOT NULL DEFAULT 0 CHECK (raised_by BETWEEN 0 AND 100000000000000),
    -- The key has a part that grows, so that an append costs the same however old the oldest snapshot is. While a
    -- session holds a snapshot (a dump, a stuck session), older versions of a row cannot be removed, and a look-up by a
    -- key that never changes reads all of them. This part changes with every 32nd event: updates in between touch no
    -- index (HOT), and a look-up reads a few dozen versions at most. `stream` and `document` have such a key too.
    position_block bigint      NOT NULL GENERATED ALWAYS AS (next_position / 32) STORED,
    PRIMARY KEY (position_block)
) WITH (
    fillfactor = 10,
    -- A tiny table with many row versions: vacuum it by their number, and at full speed.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
GRANT SELECT ON pinledger.head TO pinledger_app, pinledger_reader;

INSERT INTO pinledger.head (next_position, frontier, last_time) VALUES (0, '', '1970-01-01T00:00:00Z');

-- The key does not say that there is one row; these triggers do. ENABLE ALWAYS: session_replication_role = replica does
-- not switch them off.
CREATE TRIGGER refuse_change BEFORE INSERT OR DELETE ON pinledger.head
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.head
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.head ENABLE ALWAYS TRIGGER refuse_change, ENABLE ALWAYS TRIGGER refuse_truncate;

-- event ---------------------------------------------------------------------------------------------------------------

-- `entry` is the event, exactly as it is hashed. The other columns repeat parts of it for searches.
CREATE TABLE pinledger.event (
    position       bigint      NOT NULL,
    stream_version bigint      NOT NULL CHECK (stream_version > 0),
    recorded_at    timestamptz NOT NULL,
    stream         text        COLLATE "C" NOT NULL,
    type           text        COLLATE "C" NOT NULL,
    actor_kind     text        COLLATE "C" NOT NULL,
    actor_id       text        COLLATE "C" NOT NULL,
    -- C2SP tlog-tiles: an entry bundle gives each entry's length in 16 bits.
    entry          bytea       NOT NULL CHECK (octet_length(entry) <= 65535),
    leaf_hash      bytea       NOT NULL CHECK (octet_length(leaf_hash) = 32),
    -- head.mac as it was after this event, with the last event of each batch: it shows where authenticated events end.
    mac            bytea       CHECK (octet_length(mac) = 40),
    -- With the last event of each batch, the signature over the ledger's end behind it: what the MAC is to nodes that have the
    -- key, it is to nodes and auditors that have the public key only.
    signature      bytea       CHECK (octet_length(signature) = 72),
    PRIMARY KEY (position)
) PARTITION BY RANGE (position);
ALTER TABLE pinledger.event ALTER COLUMN entry SET STORAGE MAIN;
GRANT SELECT ON pinledger.event TO pinledger_app, pinledger_reader;

CREATE INDEX event_recorded_at ON pinledger.event USING brin (recorded_at);
CREATE INDEX event_actor ON pinledger.event (actor_id, position);
-- Every event pays for this index, and searches for a type cover long stretches of the ledger. A Bloom filter for each
-- 64 pages finds a rare type nearly as fast as a B-tree and costs next to nothing to keep. The newest pages have no
-- filter until autovacuum makes it; searches read those pages.
CREATE INDEX event_type ON pinledger.event
    USING brin (type text_bloom_ops (n_distinct_per_range = 64)) WITH (pages_per_range = 64, autosummarize = on);

CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON pinledger.event
    FOR EACH ROW EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.event
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.event ENABLE ALWAYS TRIGGER refuse_change, ENABLE ALWAYS TRIGGER refuse_truncate;

-- Makes the partition for positions [low, high): a separate table with a check of that range, which is then attached.
-- Attaching it takes no lock that delays reads or appends. CREATE TABLE … PARTITION OF would wait for every open
-- reader, and everything else would wait behind it. Row triggers are cloned to partitions, TRUNCATE triggers are not.
CREATE FUNCTION pinledger.add_partition(low bigint, high bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
DECLARE
    leaf text := 'event_' || lpad(low::text, 14, '0');
BEGIN
    EXECUTE format('CREATE TABLE pinledger.%I (LIKE pinledger.event INCLUDING DEFAULTS INCLUDING CONSTRAINTS '
        'INCLUDING STORAGE, CONSTRAINT %I CHECK (position >= %s AND position < %s)) '
        'WITH (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0.05)', leaf, leaf || '_range', low, high);
    EXECUTE format('CREATE UNIQUE INDEX %I ON pinledger.%I (stream, stream_version)', leaf || '_stream', leaf);
    EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.%I '
        'FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change()', leaf);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_truncate', leaf);
    EXECUTE format('ALTER TABLE pinledger.event ATTACH PARTITION pinledger.%I FOR VALUES FROM (%s) TO (%s)',
        leaf, low, high);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_change', leaf);
    -- The partition's own bounds say the same.
    EXECUTE format('ALTER TABLE pinledger.%I DROP CONSTRAINT %I', leaf, leaf || '_range');
END
$$;

-- Makes partitions until a whole one lies ahead of the head. There is no default partition: an event without a
-- partition must fail. Waits at most a second for a lock (55P03): there is time until the next call.
CREATE FUNCTION pinledger.ensure_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    size    CONSTANT bigint := 10000000;
    made    integer := 0;
    wanted  bigint;
    low     bigint := 0;
BEGIN
    -- Keeps two servers from making the same partition, without locking the head: appends go on.
    PERFORM pg_advisory_xact_lock(7809142019);
    SELECT next_position INTO STRICT wanted FROM head ORDER BY position_block DESC LIMIT 1;
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
GRANT EXECUTE ON FUNCTION pinledger.ensure_partitions TO pinledger_app;

SELECT pinledger.ensure_partitions();

-- The leaf hash of the event at a position; NULL where there is none. It is planned with the position, so that it takes no lock
-- of other partitions: one that is moved to another disk keeps nobody waiting who does not read it.
CREATE FUNCTION pinledger.leaf_hash_at(p_position bigint) RETURNS bytea
LANGUAGE plpgsql STABLE SET search_path = pinledger, pg_temp AS $$
DECLARE
    hash bytea;
BEGIN
    EXECUTE 'SELECT leaf_hash FROM event WHERE position = $1' INTO hash USING p_position;
    RETURN hash;
END
$$;

-- tree_node -----------------------------------------------------------------------------------------------------------

-- Roots of the full 256-leaf tiles of the Merkle tree: the nodes whose level is a multiple of 8. All other nodes, and
-- every proof, are computed quickly from these. Level 0 is event.leaf_hash.
CREATE TABLE pinledger.tree_node (
    level smallint NOT NULL CHECK (level > 0 AND level % 8 = 0),
    index bigint   NOT NULL CHECK (index >= 0),
    hash  bytea    NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (level, index)
);
GRANT SELECT ON pinledger.tree_node TO pinledger_app, pinledger_reader;

CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON pinledger.tree_node
    FOR EACH ROW EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.tree_node
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.tree_node ENABLE ALWAYS TRIGGER refuse_change, ENABLE ALWAYS TRIGGER refuse_truncate;

-- stream --------------------------------------------------------------------------------------------------------------

-- The length of each stream. A partitioned table cannot keep (stream, stream_version) unique across its partitions, so
-- this table is the authority, and an index on each partition the backstop.
CREATE TABLE pinledger.stream (
    name          text   COLLATE "C" NOT NULL,
    version       bigint NOT NULL CHECK (version > 0),
    last_position bigint NOT NULL,
    -- The part of the key that grows: see head.position_block.
    version_block bigint NOT NULL GENERATED ALWAYS AS (version / 32) STORED,
    PRIMARY KEY (name, version_block)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
GRANT SELECT ON pinledger.stream TO pinledger_app, pinledger_reader;

-- command -------------------------------------------------------------------------------------------------------------

-- Commands that came with an idempotency key, and what they recorded.
CREATE TABLE pinledger.command (
    actor          text        COLLATE "C" NOT NULL,
    key            text        COLLATE "C" NOT NULL,
    digest         bytea       NOT NULL CHECK (octet_length(digest) = 32),
    first_position bigint      NOT NULL,
    event_count    integer     NOT NULL CHECK (event_count >= 0),
    recorded_at    timestamptz NOT NULL,
    -- Keys differ and actors hardly do: comparing the key first decides at once.
    PRIMARY KEY (key, actor)
);
GRANT SELECT ON pinledger.command TO pinledger_app, pinledger_reader;

CREATE INDEX command_recorded_at ON pinledger.command USING brin (recorded_at);

-- Deletes commands recorded before p_before, at most ten thousand a call, and never those of the last day: an
-- idempotency key is promised to work that long. Returns how many it deleted.
CREATE FUNCTION pinledger.forget_commands(p_before timestamptz DEFAULT now() - interval '30 days') RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM command WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM command WHERE recorded_at < least(p_before, now() - interval '1 day')
             LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_commands TO pinledger_app;

-- Appending -----------------------------------------------------------------------------------------------------------

-- Raises PL006 where the session wants commits that a synchronous standby has confirmed (pinledger.require_synchronous is on),
-- and this server's settings do not have commits wait for one. A cluster manager may take the last standby out of the settings
-- at any time, so whatever confirms a change asks again.
CREATE FUNCTION pinledger.check_synchronous() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('pinledger.require_synchronous', true) = 'on'
        AND (current_setting('synchronous_standby_names') = ''
            OR current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')) THEN
        RAISE EXCEPTION 'no synchronous standby confirms commits: synchronous_standby_names is "%", synchronous_commit %',
            current_setting('synchronous_standby_names'), current_setting('synchronous_commit')
            USING ERRCODE = 'PL006';
    END IF;
END
$$;

-- Locks the head for the rest of the transaction and returns it. A writer that lost a race uses it: no other can move the
-- head between this read and its append. So does a writer that answers from what was recorded before: the lock is
-- written to the log, so the commit waits for the disk, and for a standby, as that of an append does.
CREATE FUNCTION pinledger.lock_head(
    OUT next_position bigint, OUT frontier bytea, OUT last_time timestamptz, OUT mac bytea
) LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
    SELECT check_synchronous();
    SELECT next_position, frontier, last_time, mac FROM head ORDER BY position_block DESC LIMIT 1 FOR UPDATE
$$;
GRANT EXECUTE ON FUNCTION pinledger.lock_head TO pinledger_app;

-- Replaces the MAC of the ledger's end if that is at p_position and its MAC is p_from: the key-encryption key was changed,
-- or an operator trusts what the database holds. Returns whether it was. A caller without the key can only make a MAC at
-- which every node halts.
CREATE FUNCTION pinledger.authenticate_head(p_position bigint, p_from bytea, p_to bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
    WITH taken AS (
        UPDATE head h SET mac = p_to
         WHERE h.position_block = p_position / 32 AND h.next_position = p_position
           AND h.mac IS NOT DISTINCT FROM p_from AND p_to IS NOT NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM taken)
$$;
GRANT EXECUTE ON FUNCTION pinledger.authenticate_head TO pinledger_app;

-- The only way to write to the ledger. Takes one batch of decided commands: e_ are its events, n_ the tree's new nodes,
-- s_ the streams with their versions before and after, c_ the commands with an idempotency key.
--
-- Returns one of
--   outcome 'appended'   and the new head
--   outcome 'moved'      another writer came first: nothing is written, `head` is where the ledger ends
-- Raises
--   23505  on command_pkey: a command of the batch was recorded before; nothing is written
--   PL001  the batch does not fit the streams it names (cannot happen after a correct fold)
--   PL002  the batch's time lies before the last event's
--   PL005  the ledger's end is authenticated with a key-encryption key, and p_mac is of another one, or is not given:
--          after a change of the key, nodes that still have the old one append nothing
--   PL006  as check_synchronous() says
--
-- It runs many times a second on tables that were empty when it was planned. So plans are made once, for any number of
-- parameters, and never read a whole table.
CREATE FUNCTION pinledger.append(
    p_position bigint, p_frontier bytea, p_new_frontier bytea, p_time timestamptz,
    e_stream text[], e_version bigint[], e_type text[], e_actor_kind text[], e_actor_id text[], e_entry bytea[],
    n_level smallint[], n_index bigint[], n_hash bytea[],
    s_name text[], s_before bigint[], s_after bigint[], s_last bigint[],
    c_actor text[], c_key text[], c_digest bytea[], c_first bigint[], c_count integer[],
    p_announce boolean DEFAULT true, p_mac bytea DEFAULT NULL, p_signature bytea DEFAULT NULL,
    OUT outcome text, OUT head bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    count    bigint := cardinality(e_stream);
    previous timestamptz;
    present  bytea;
    raised   bigint := 0;
    created  bigint := 0;
    advanced bigint := 0;
BEGIN
    PERFORM check_synchronous();
    IF '' = ANY (e_entry) THEN
        -- It would look like one that is pruned.
        RAISE EXCEPTION 'an entry is empty' USING ERRCODE = 'check_violation';
    END IF;
    IF 'HistoryRestored' = ANY (e_type) THEN
        SELECT sum((convert_from(e.entry, 'UTF8')::jsonb -> 'data' ->> 'raised_by')::bigint) INTO raised
          FROM unnest(e_type, e_entry) e (type, entry) WHERE e.type = 'HistoryRestored';
    END IF;
    -- Takes the head's lock, or waits for its holder and then finds the head moved.
    IF count > 0 THEN
        UPDATE head h SET next_position = p_position + count, frontier = p_new_frontier, last_time = p_time,
               mac = p_mac, raised_by = h.raised_by + raised
         WHERE h.position_block = p_position / 32 AND h.next_position = p_position AND h.frontier = p_frontier
           AND h.last_time <= p_time AND (h.mac IS NULL OR substr(h.mac, 1, 8) = substr(p_mac, 1, 8))
        RETURNING h.next_position INTO head;
    ELSE
        -- Nothing moves: no new version of the row.
        SELECT h.next_position INTO head FROM head h
         WHERE h.position_block = p_position / 32 AND h.next_position = p_position AND h.frontier = p_frontier
           AND h.last_time <= p_time
           FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
        SELECT h.next_position, h.last_time, h.mac INTO STRICT head, previous, present
          FROM head h ORDER BY h.position_block DESC LIMIT 1 FOR UPDATE;
        IF head = p_position AND previous > p_time THEN
            RAISE EXCEPTION 'time % lies before the last event''s, %', p_time, previous USING ERRCODE = 'PL002';
        END IF;
        IF head = p_position AND count > 0 AND present IS NOT NULL
            AND substr(present, 1, 8) IS DISTINCT FROM substr(p_mac, 1, 8) THEN
            RAISE EXCEPTION 'the ledger is authenticated with another key-encryption key' USING ERRCODE = 'PL005';
        END IF;
        outcome := 'moved';
        RETURN;
    END IF;

    IF cardinality(c_key) > 0 THEN
        INSERT INTO command (actor, key, digest, first_position, event_count, recorded_at)
        SELECT c.actor, c.key, c.digest, c.first, c.count, p_time
          FROM unnest(c_actor, c_key, c_digest, c_first, c_count) c (actor, key, digest, first, count);
    END IF;

    IF count > 0 THEN
        INSERT INTO event (position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash,
                           mac, signature)
        SELECT p_position + e.place - 1, e.version, p_time, e.stream, e.type, e.actor_kind, e.actor_id, e.entry,
               sha256('\x00'::bytea || e.entry), CASE WHEN e.place = count THEN p_mac END,
               CASE WHEN e.place = count THEN p_signature END
          FROM unnest(e_stream, e_version, e_type, e_actor_kind, e_actor_id, e_entry)
               WITH ORDINALITY e (stream, version, type, actor_kind, actor_id, entry, place);

        IF cardinality(n_level) > 0 THEN
            INSERT INTO tree_node (level, index, hash) SELECT * FROM unnest(n_level, n_index, n_hash);
        END IF;

        IF 0 = ANY (s_before) THEN
            INSERT INTO stream (name, version, last_position)
            SELECT s.name, s.after, s.last FROM unnest(s_name, s_before, s_after, s_last) s (name, before, after, last)
             WHERE s.before = 0 AND NOT EXISTS (SELECT FROM stream t WHERE t.name = s.name)
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS created = ROW_COUNT;
        END IF;
        IF created < cardinality(s_name) THEN
            UPDATE stream t SET version = s.after, last_position = s.last
              FROM unnest(s_name, s_before, s_after, s_last) s (name, before, after, last)
             WHERE s.before > 0 AND t.name = s.name AND t.version_block = s.before / 32 AND t.version = s.before;
            GET DIAGNOSTICS advanced = ROW_COUNT;
        END IF;
        IF created + advanced <> cardinality(s_name) THEN
            RAISE EXCEPTION 'a stream is not at the version the batch expects' USING ERRCODE = 'PL001';
        END IF;

        -- A writer that announced an append a moment ago leaves this one out, and announces it with its next ones.
        IF p_announce THEN
            PERFORM pg_notify('pinledger_position', head::text);
        END IF;
    END IF;
    outcome := 'appended';
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.append TO pinledger_app;

-- Finds out whether the ledger would take an event at this moment: makes one and undoes it. Raises what an append
-- would.
CREATE FUNCTION pinledger.rehearse_append() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
    next bigint;
BEGIN
    PERFORM check_synchronous();
    -- The lock stays, so that the commit of this statement waits for what the commit of an append waits for.
    SELECT h.next_position INTO STRICT next FROM head h ORDER BY h.position_block DESC LIMIT 1 FOR UPDATE;
    BEGIN
        INSERT INTO command (actor, key, digest, first_position, event_count, recorded_at)
        -- A key that nobody has taken.
        VALUES ('', gen_random_uuid()::text, sha256(''), next, 1, now());
        INSERT INTO event (position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
        VALUES (next, 1, now(), '', '', '', '', '', sha256(''));
        RAISE EXCEPTION 'undone' USING ERRCODE = 'PL099';
    EXCEPTION WHEN SQLSTATE 'PL099' THEN
        NULL;
    END;
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.rehearse_append TO pinledger_app;

-- snapshot ------------------------------------------------------------------------------------------------------------

-- The fold of the ledger up to a position, for a quick start. May be deleted as long as nodes can read the events before it.
CREATE TABLE pinledger.snapshot (
    fold_version integer     NOT NULL,
    position     bigint      NOT NULL CHECK (position > 0),
    frontier     bytea       NOT NULL CHECK (octet_length(frontier) <= 2048),
    -- The SHA-256 of each part, one after another.
    digests      bytea       NOT NULL CHECK (octet_length(digests) % 32 = 0 AND octet_length(digests) <= 65536),
    -- By a node with the key-encryption key: of the columns before it.
    tag          bytea       NOT NULL CHECK (octet_length(tag) = 32),
    -- By the same node, for nodes that have the public key only.
    signature    bytea       CHECK (octet_length(signature) = 72),
    -- The tag and the signature as they were verified, of the one from which nodes start that cannot read pruned events: no
    -- account of a server changes them, and it stays, whatever else is stored. NULL for all others.
    kept_tag       bytea     CHECK (octet_length(kept_tag) = 32),
    kept_signature bytea     CHECK (octet_length(kept_signature) = 72),
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (fold_version, position)
);
GRANT SELECT ON pinledger.snapshot TO pinledger_app, pinledger_reader;

-- The state of a snapshot, in parts: a value has at most 1 GB, and a node needs few of them in memory at once. Parts are
-- stored before their snapshot, in the same transaction.
CREATE TABLE pinledger.snapshot_part (
    fold_version integer NOT NULL,
    position     bigint  NOT NULL,
    number       integer NOT NULL CHECK (number >= 0),
    body         bytea   NOT NULL,
    PRIMARY KEY (fold_version, position, number),
    FOREIGN KEY (fold_version, position) REFERENCES pinledger.snapshot
        ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
GRANT SELECT ON pinledger.snapshot_part TO pinledger_app, pinledger_reader;

-- Stores one part of a snapshot. Another node that stores the same snapshot is waited for, as long as lock_timeout allows, and
-- its parts stay.
CREATE FUNCTION pinledger.store_snapshot_part(p_fold integer, p_position bigint, p_number integer, p_body bytea)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO snapshot_part (fold_version, position, number, body) VALUES (p_fold, p_position, p_number, p_body)
        ON CONFLICT DO NOTHING;
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_snapshot_part TO pinledger_app;

-- Stores a snapshot whose parts are stored, and keeps the newest three of its fold version. One of events that the ledger does
-- not have is not stored, and its parts fail the transaction.
CREATE FUNCTION pinledger.store_snapshot(
    p_fold integer, p_position bigint, p_frontier bytea, p_digests bytea, p_tag bytea, p_signature bytea DEFAULT NULL
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO snapshot (fold_version, position, frontier, digests, tag, signature)
    SELECT p_fold, p_position, p_frontier, p_digests, p_tag, p_signature
     WHERE p_position <= (SELECT max(next_position) FROM head)
        ON CONFLICT DO NOTHING;
    DELETE FROM snapshot s
     WHERE s.fold_version = p_fold AND s.kept_tag IS NULL
       AND s.position NOT IN (SELECT position FROM snapshot WHERE fold_version = p_fold ORDER BY position DESC LIMIT 3);
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_snapshot TO pinledger_app;

-- Deletes snapshots of fold versions before p_fold, once there is one of p_fold. Keeps those of the last day, and the newest of each
-- fold version for 30 days: until then the previous program may come back. Returns how many it deleted.
CREATE FUNCTION pinledger.forget_snapshots(p_fold integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM snapshot s
         WHERE s.fold_version < p_fold AND s.created_at < now() - interval '1 day' AND s.kept_tag IS NULL
           AND EXISTS (SELECT FROM snapshot n WHERE n.fold_version = p_fold)
           AND (s.created_at < now() - interval '30 days'
                OR EXISTS (SELECT FROM snapshot n WHERE n.fold_version = s.fold_version AND n.position > s.position))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_snapshots TO pinledger_app;

-- Replaces the tag of a snapshot, and its signature, if the tag is p_from. Returns whether it was.
CREATE FUNCTION pinledger.retag_snapshot(
    p_fold integer, p_position bigint, p_from bytea, p_to bytea, p_signature bytea DEFAULT NULL
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH taken AS (
        UPDATE snapshot s SET tag = p_to, signature = p_signature
         WHERE s.fold_version = p_fold AND s.position = p_position AND s.tag = p_from
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM taken)
$$;
GRANT EXECUTE ON FUNCTION pinledger.retag_snapshot TO pinledger_app;
