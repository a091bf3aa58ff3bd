SET LOCAL ROLE pinledger_owner;

-- Pruning: the entries of old events are kept in entry bundles outside the database. A pruned event keeps its row and all
-- columns but the bytes of its entry, which are empty: an event's never are. So positions, histories, MACs, the Merkle tree and
-- all proofs stay as they are, and whatever needs the entry finds out that it is missing. Only the owner may prune and restore;
-- `pinledger bundles` does.

-- Partitions of `event` that are pruned, and the one that is about to be.
CREATE TABLE pinledger.pruned_partition (
    first_position bigint      PRIMARY KEY CHECK (first_position >= 0),
    end_position   bigint      NOT NULL CHECK (end_position > first_position),
    -- NULL until its copy without entries is in place. The row is there from the copy on: who sees empty entries sees it too.
    pruned_at      timestamptz,
    pruned_by      text        COLLATE "C" NOT NULL DEFAULT session_user
);
GRANT SELECT ON pinledger.pruned_partition TO pinledger_app, pinledger_reader;

-- The webhooks that still need entries of events before p_end.
CREATE FUNCTION pinledger.webhooks_behind(p_end bigint) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pinledger, pg_temp AS $$
    SELECT f.webhook FROM webhook_feed f
     WHERE f.cursor < p_end
        OR EXISTS (SELECT FROM webhook_delivery d WHERE d.webhook = f.webhook AND d.position < p_end)
$$;

-- What keeps the partition that ends at p_end from being pruned: what it is, and its name or number; nothing where it may be.
CREATE FUNCTION pinledger.pruning_obstacles(p_end bigint) RETURNS TABLE (kind text, detail text)
LANGUAGE sql STABLE SET search_path = pinledger, pg_temp AS $$
    -- An entry bundle has 256 entries, and the last one has to be whole.
    SELECT 'head', max(next_position)::text FROM head HAVING max(next_position) < (p_end + 255) / 256 * 256
    UNION ALL
    SELECT 'commands', count(*)::text FROM command WHERE event_count > 0 AND first_position < p_end HAVING count(*) > 0
    UNION ALL
    (SELECT 'webhook', w FROM webhooks_behind(p_end) w LIMIT 1)
    UNION ALL
    (SELECT 'node', name FROM node WHERE position < p_end AND is_live(seen_at) LIMIT 1)
$$;

-- Makes a copy of a partition beside it, in its tablespace, with a check of its range. With p_prune it lacks the entries of
-- streams of single apps, which are most events, but for the one that records an app's newest document: the proof of the document
-- shows it. Without p_prune it has all entries, those that are missing taken from restored_entry (position, entry). Every other
-- column is the same, and every entry has its recorded hash. The partition has to be full.
CREATE FUNCTION pinledger.copy_partition(p_first bigint, p_prune boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
DECLARE
    leaf      CONSTANT text := 'event_' || lpad(p_first::text, 14, '0');
    copy      CONSTANT text := leaf || '_copy';
    bounds    text[];
    place     text;
    differing bigint;
    kept      bigint[];
BEGIN
    SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)'), t.spcname
      INTO STRICT bounds, place
      FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = format('%I', leaf)::regclass;
    IF NOT EXISTS (SELECT FROM head h WHERE h.next_position >= bounds[2]::bigint) THEN
        RAISE EXCEPTION '% is not full', leaf USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    -- Indexes go there too.
    PERFORM set_config('default_tablespace', coalesce(place, ''), true);
    EXECUTE format('DROP TABLE IF EXISTS %I', copy);
    EXECUTE format('CREATE TABLE %I (LIKE event INCLUDING DEFAULTS INCLUDING CONSTRAINTS '
        'INCLUDING STORAGE INCLUDING INDEXES, CONSTRAINT %I CHECK (position >= %s AND position < %s)) '
        'WITH (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0.05)',
        copy, leaf || '_range', bounds[1], bounds[2]);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (stream, stream_version)', copy || '_stream', copy);
    EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %I '
        'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', copy);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER refuse_truncate', copy);
    IF p_prune THEN
        EXECUTE format(
            'SELECT array_agg(p.position) FROM (SELECT DISTINCT ON (e.stream) e.stream, e.stream_version, e.position '
            'FROM %I e WHERE e.type = ''DocumentPublished'' ORDER BY e.stream, e.stream_version DESC) p '
            'WHERE NOT EXISTS (SELECT FROM event l WHERE l.stream = p.stream AND l.stream_version > p.stream_version '
            'AND l.type = ''DocumentPublished'')', leaf) INTO kept;
    END IF;
    IF p_prune THEN
        INSERT INTO pruned_partition (first_position, end_position) VALUES (p_first, bounds[2]::bigint)
            ON CONFLICT (first_position) DO NOTHING;
    END IF;
    EXECUTE format(
        'INSERT INTO %I SELECT e.position, e.stream_version, e.recorded_at, e.stream, e.type, e.actor_kind, '
        'e.actor_id, %s, e.leaf_hash, e.mac, e.signature FROM %I e %s ORDER BY e.position', copy,
        CASE WHEN p_prune
             THEN 'CASE WHEN strpos(e.stream, ''/'') > 0 AND NOT e.position IN (SELECT unnest($1)) THEN ''''::bytea ELSE e.entry END'
             ELSE 'CASE WHEN e.entry = '''' THEN r.entry ELSE e.entry END' END,
        leaf, CASE WHEN p_prune THEN '' ELSE 'LEFT JOIN restored_entry r ON r.position = e.position' END)
        USING coalesce(kept, '{}');
    EXECUTE format(
        'SELECT count(*) FROM %I e FULL JOIN %I c ON c.position = e.position '
        'WHERE c.position IS NULL OR (e.stream_version, e.recorded_at, e.stream, e.type, e.actor_kind, e.actor_id, '
        'e.leaf_hash, e.mac, e.signature) IS DISTINCT FROM (c.stream_version, c.recorded_at, c.stream, c.type, '
        'c.actor_kind, c.actor_id, c.leaf_hash, c.mac, c.signature) '
        'OR (c.entry <> '''' OR NOT %L) AND sha256(''\x00''::bytea || c.entry) <> c.leaf_hash', leaf, copy, p_prune)
        INTO differing;
    IF differing > 0 THEN
        RAISE EXCEPTION 'the copy of % differs from it, or has entries without their hash: % rows', leaf, differing
            USING ERRCODE = 'data_corrupted';
    END IF;
END
$$;

-- Whether all sessions see all rows of a partition's copy, once it was vacuumed. A transaction that began before the copy would
-- find nothing in it.
CREATE FUNCTION pinledger.is_copy_visible(p_first bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pinledger, pg_temp AS $$
    SELECT relallvisible >= relpages FROM pg_class
     WHERE oid = format('%I', 'event_' || lpad(p_first::text, 14, '0') || '_copy')::regclass
$$;

-- Drops a copy that was not put in place.
CREATE FUNCTION pinledger.drop_partition_copy(p_first bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
BEGIN
    EXECUTE format('DROP TABLE IF EXISTS %I', 'event_' || lpad(p_first::text, 14, '0') || '_copy');
    DELETE FROM pruned_partition WHERE first_position = p_first AND pruned_at IS NULL;
END
$$;

-- Makes the table that copy_partition takes entries from, in the partition's tablespace.
CREATE FUNCTION pinledger.prepare_restore(p_first bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
DECLARE
    place text;
BEGIN
    SELECT t.spcname INTO place FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
     WHERE c.oid = format('%I', 'event_' || lpad(p_first::text, 14, '0'))::regclass;
    PERFORM set_config('default_tablespace', coalesce(place, ''), true);
    DROP TABLE IF EXISTS restored_entry;
    CREATE UNLOGGED TABLE restored_entry (position bigint PRIMARY KEY, entry bytea NOT NULL) WITH (autovacuum_enabled = false);
    ALTER TABLE restored_entry ALTER COLUMN entry SET STORAGE MAIN;
END
$$;

-- Puts the copy that copy_partition made in its partition's place, and records that it is pruned, or no longer. Raises PL008 where
-- a webhook needs the entries, or no snapshot of the form p_fold is kept behind them. All reads and appends wait while it waits for
-- a lock: it waits a fifth of a second (55P03), and callers try again.
CREATE FUNCTION pinledger.replace_partition(p_first bigint, p_prune boolean, p_fold integer) RETURNS void
LANGUAGE plpgsql SET search_path = pinledger, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    leaf   CONSTANT text := 'event_' || lpad(p_first::text, 14, '0');
    copy   CONSTANT text := leaf || '_copy';
    bounds text[];
    name   text;
BEGIN
    SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') INTO STRICT bounds
      FROM pg_class c WHERE c.oid = format('%I', leaf)::regclass;
    EXECUTE format('ALTER TABLE event DETACH PARTITION %I', leaf);
    -- Asked with the lock: what would need the entries from now on finds out that they are gone.
    IF p_prune AND (
        EXISTS (SELECT FROM webhooks_behind(bounds[2]::bigint))
        OR NOT EXISTS (
            SELECT FROM snapshot WHERE fold_version = p_fold AND position >= bounds[2]::bigint AND kept_tag IS NOT NULL)
    ) THEN
        RAISE EXCEPTION 'something needs the entries of %', leaf USING ERRCODE = 'PL008';
    END IF;
    EXECUTE format('DROP TABLE %I', leaf);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', copy, leaf);
    FOR name IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = format('%I', leaf)::regclass LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', name, replace(name, copy, leaf));
    END LOOP;
    EXECUTE format('ALTER TABLE event ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', leaf, bounds[1], bounds[2]);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER refuse_change', leaf);
    -- The partition's own bounds say the same.
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', leaf, leaf || '_range');
    IF p_prune THEN
        UPDATE pruned_partition SET pruned_at = now() WHERE first_position = p_first;
    ELSE
        DELETE FROM pruned_partition WHERE first_position = p_first;
    END IF;
END
$$;
