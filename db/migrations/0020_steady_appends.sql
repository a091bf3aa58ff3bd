SET LOCAL ROLE pinledger_owner;

-- What every batch rewrites costs the same however old the oldest snapshot is.
--
-- While somebody holds a snapshot (a dump, a stuck session), no older version of a row can be removed, and who looks for
-- the row by a key that never changes passes by all of them. So the key has a part that grows: it changes with every 32nd
-- event. Updates in between leave it alone (HOT: no index is touched), and a look-up passes by a few dozen versions at
-- the most.

ALTER TABLE pinledger.head
    ADD COLUMN position_block bigint NOT NULL GENERATED ALWAYS AS (next_position / 32) STORED;
ALTER TABLE pinledger.head DROP CONSTRAINT head_pkey, ADD PRIMARY KEY (position_block);
-- The key no longer says that there is one row.
CREATE TRIGGER refuse_change BEFORE INSERT OR DELETE ON pinledger.head
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.head
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change();
ALTER TABLE pinledger.head ENABLE ALWAYS TRIGGER refuse_change, ENABLE ALWAYS TRIGGER refuse_truncate;

ALTER TABLE pinledger.stream
    ADD COLUMN version_block bigint NOT NULL GENERATED ALWAYS AS (version / 32) STORED;
ALTER TABLE pinledger.stream DROP CONSTRAINT stream_pkey, ADD PRIMARY KEY (name, version_block);

-- Small tables, many versions: looked after by the number of these, and at once.
ALTER TABLE pinledger.head SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE pinledger.stream SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE pinledger.document SET (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_cost_delay = 0);

-- Locks the head for the rest of the transaction and says where it stands. For a writer that lost a race: with the lock
-- held nobody can move the head between its reading and its append. And for whoever answers by what was recorded before:
-- the lock is written to the log, so that the commit behind it waits for the disk, and for a standby, as an append does.
CREATE OR REPLACE FUNCTION pinledger.lock_head(
    OUT next_position bigint, OUT frontier bytea, OUT last_time timestamptz
) LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
    SELECT next_position, frontier, last_time FROM head ORDER BY position_block DESC LIMIT 1 FOR UPDATE
$$;

-- The only way to write to the ledger. Takes one batch of decided commands.
--
-- Returns one of
--   outcome 'appended'   and the new head
--   outcome 'moved'      another writer came first: nothing is written, `head` says where the ledger ends now
-- Raises
--   23505  on command_pkey: a command of the batch was recorded before; nothing is written
--   PL001  the batch does not fit the streams it names (cannot happen after a correct fold)
--   PL002  the batch's time lies before the last event's
--
-- It runs many times a second on tables that were empty when its plans were made: plans are made once, for any number
-- of parameters, and never read a table from end to end.
CREATE OR REPLACE FUNCTION pinledger.append(
    p_position bigint, p_frontier bytea, p_new_frontier bytea, p_time timestamptz,
    e_stream text[], e_version bigint[], e_type text[], e_actor_kind text[], e_actor_id text[], e_entry bytea[],
    n_level smallint[], n_index bigint[], n_hash bytea[],
    s_name text[], s_before bigint[], s_after bigint[], s_last bigint[],
    c_actor text[], c_key text[], c_digest bytea[], c_first bigint[], c_count integer[],
    p_announce boolean DEFAULT true,
    OUT outcome text, OUT head bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    count    bigint := cardinality(e_stream);
    previous timestamptz;
    created  bigint := 0;
    advanced bigint := 0;
BEGIN
    -- Takes the head's lock, or waits for whoever holds it and then finds the head elsewhere.
    IF count > 0 THEN
        UPDATE head h SET next_position = p_position + count, frontier = p_new_frontier, last_time = p_time
         WHERE h.position_block = p_position / 32 AND h.next_position = p_position AND h.frontier = p_frontier
           AND h.last_time <= p_time
        RETURNING h.next_position INTO head;
    ELSE
        -- Nothing moves: no new version of the row.
        SELECT h.next_position INTO head FROM head h
         WHERE h.position_block = p_position / 32 AND h.next_position = p_position AND h.frontier = p_frontier
           AND h.last_time <= p_time
           FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
        SELECT h.next_position, h.last_time INTO STRICT head, previous
          FROM head h ORDER BY h.position_block DESC LIMIT 1 FOR UPDATE;
        IF head = p_position AND previous > p_time THEN
            RAISE EXCEPTION 'time % lies before the last event''s, %', p_time, previous USING ERRCODE = 'PL002';
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
        INSERT INTO event (position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
        SELECT p_position + e.place - 1, e.version, p_time, e.stream, e.type, e.actor_kind, e.actor_id, e.entry,
               sha256('\x00'::bytea || e.entry)
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

        -- A writer that woke the other nodes a moment ago does so again a moment later, for all it appends until then.
        IF p_announce THEN
            PERFORM pg_notify('pinledger_position', head::text);
        END IF;
    END IF;
    outcome := 'appended';
END
$$;

-- Finds out whether the ledger would take an event now: makes one and undoes it. Raises what an append would raise.
CREATE FUNCTION pinledger.rehearse_append() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
    next bigint;
BEGIN
    -- The lock stays: it has the commit of this statement wait for what the commit of an append waits for.
    SELECT h.next_position INTO STRICT next FROM head h ORDER BY h.position_block DESC LIMIT 1 FOR UPDATE;
    BEGIN
        INSERT INTO command (actor, key, digest, first_position, event_count, recorded_at)
        VALUES ('', '', sha256(''), next, 1, now());
        INSERT INTO event (position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
        VALUES (next, 1, now(), '', '', '', '', '', sha256(''));
        RAISE EXCEPTION 'undone' USING ERRCODE = 'PL099';
    EXCEPTION WHEN SQLSTATE 'PL099' THEN
        NULL;
    END;
END
$$;

-- Takes the next events before position p_until into a webhook's deliveries, those that pass its filters (empty: all),
-- and moves its cursor. Returns the cursor; NULL where somebody else is at it, or where there is no such feed. Takes
-- nothing while ten thousand deliveries are open: they wait in the ledger.
CREATE OR REPLACE FUNCTION pinledger.feed_webhook(
    p_webhook text, p_until bigint, p_types text[], p_streams text[], p_limit integer
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
    first bigint;
    until bigint;
BEGIN
    SELECT f.cursor INTO first FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT least(p_until, first + least(p_limit, 10000), h.next_position) INTO until
      FROM head h ORDER BY h.position_block DESC LIMIT 1;
    IF until <= first OR 10000 <= (
        SELECT count(*) FROM webhook_delivery d WHERE d.webhook = p_webhook AND d.state IN ('pending', 'failed')
    ) THEN
        RETURN first;
    END IF;
    INSERT INTO webhook_delivery (webhook, position, stream, type)
    SELECT p_webhook, e.position, e.stream, e.type FROM event e
     WHERE e.position >= first AND e.position < until
       AND (cardinality(p_types) = 0 OR e.type = ANY (p_types))
       AND (cardinality(p_streams) = 0 OR e.stream = ANY (p_streams))
        ON CONFLICT DO NOTHING;
    UPDATE webhook_feed f SET cursor = until WHERE f.webhook = p_webhook;
    RETURN until;
END
$$;

-- Makes the partition for positions [low, high): a table by itself, checked to hold nothing else, that is attached then.
-- That takes no lock which readers or appends mind; CREATE TABLE … PARTITION OF would wait for every open reader, and
-- have everybody else wait behind it. Row triggers are cloned to partitions, TRUNCATE triggers are not.
CREATE OR REPLACE FUNCTION pinledger.add_partition(low bigint, high bigint) RETURNS void LANGUAGE plpgsql AS $$
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

-- Makes partitions until a whole one lies ahead of the head. No default partition: an event that finds none must fail.
-- Waits for no lock longer than a second (55P03): there is time until the next call.
CREATE OR REPLACE FUNCTION pinledger.ensure_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    size    CONSTANT bigint := 10000000;
    made    integer := 0;
    wanted  bigint;
    low     bigint := 0;
BEGIN
    -- Keeps two servers from making the same partition, and lets the head be: appends go on.
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

REVOKE ALL ON FUNCTION pinledger.rehearse_append FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.rehearse_append TO pinledger_app;
