SET LOCAL ROLE pinledger_owner;

-- Pruning: the entries of old events are kept in entry bundles outside the database. A pruned event keeps its row and all
-- columns but the bytes of its entry, which are empty: an event's never are. So positions, histories, MACs, the Merkle tree and
-- all proofs stay as they are, and whatever needs the entry finds out that it is missing. Only the owner may prune and restore;
-- `pinledger bundles` does.

-- Partitions of `event` that are pruned.
CREATE TABLE pinledger.pruned_partition (
    first_position bigint      PRIMARY KEY CHECK (first_position >= 0),
    end_position   bigint      NOT NULL CHECK (end_position > first_position),
    pruned_at      timestamptz NOT NULL DEFAULT now(),
    pruned_by      text        NOT NULL DEFAULT session_user
);
GRANT SELECT ON pinledger.pruned_partition TO pinledger_app, pinledger_reader;

-- Makes a copy of a partition beside it, with a check of its range. With p_prune it lacks the entries of streams of single apps,
-- which are most events, but for the one that records an app's newest document: the proof of the document shows it. Without
-- p_prune it has all entries, those that are missing taken from pg_temp.restored_entry (position, entry). Every other column is
-- the same, and every entry has its recorded hash. The partition has to be full.
CREATE FUNCTION pinledger.copy_partition(p_first bigint, p_prune boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    leaf      CONSTANT text := 'event_' || lpad(p_first::text, 14, '0');
    copy      CONSTANT text := leaf || '_copy';
    bounds    text[];
    differing bigint;
    kept      bigint[];
BEGIN
    SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') INTO STRICT bounds
      FROM pg_class c WHERE c.oid = format('pinledger.%I', leaf)::regclass;
    IF NOT EXISTS (SELECT FROM pinledger.head h WHERE h.next_position >= bounds[2]::bigint) THEN
        RAISE EXCEPTION '% is not full', leaf USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS pinledger.%I', copy);
    EXECUTE format('CREATE TABLE pinledger.%I (LIKE pinledger.event INCLUDING DEFAULTS INCLUDING CONSTRAINTS '
        'INCLUDING STORAGE INCLUDING INDEXES, CONSTRAINT %I CHECK (position >= %s AND position < %s)) '
        'WITH (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0.05)',
        copy, leaf || '_range', bounds[1], bounds[2]);
    EXECUTE format('CREATE UNIQUE INDEX %I ON pinledger.%I (stream, stream_version)', copy || '_stream', copy);
    EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON pinledger.%I '
        'FOR EACH STATEMENT EXECUTE FUNCTION pinledger.refuse_change()', copy);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_truncate', copy);
    IF p_prune THEN
        SELECT coalesce(array_agg(e.position), '{}') INTO kept FROM pinledger.stream s CROSS JOIN LATERAL (
            SELECT e.position FROM pinledger.event e WHERE e.stream = s.name AND e.type = 'DocumentPublished'
             ORDER BY e.stream_version DESC LIMIT 1) e
         WHERE s.name LIKE 'watch/%' AND e.position >= bounds[1]::bigint AND e.position < bounds[2]::bigint;
    END IF;
    EXECUTE format(
        'INSERT INTO pinledger.%I SELECT e.position, e.stream_version, e.recorded_at, e.stream, e.type, e.actor_kind, '
        'e.actor_id, %s, e.leaf_hash, e.mac, e.signature FROM pinledger.%I e %s ORDER BY e.position', copy,
        CASE WHEN p_prune
             THEN 'CASE WHEN strpos(e.stream, ''/'') > 0 AND NOT e.position IN (SELECT unnest($1)) THEN ''''::bytea ELSE e.entry END'
             ELSE 'CASE WHEN e.entry = '''' THEN r.entry ELSE e.entry END' END,
        leaf, CASE WHEN p_prune THEN '' ELSE 'LEFT JOIN pg_temp.restored_entry r ON r.position = e.position' END)
        USING kept;
    EXECUTE format(
        'SELECT count(*) FROM pinledger.%I e FULL JOIN pinledger.%I c ON c.position = e.position '
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

-- Puts the copy that copy_partition made in its partition's place, and records that it is pruned, or no longer. All reads and
-- appends wait while it waits for a lock, so callers set a short lock_timeout and try again.
CREATE FUNCTION pinledger.replace_partition(p_first bigint, p_prune boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    leaf   CONSTANT text := 'event_' || lpad(p_first::text, 14, '0');
    copy   CONSTANT text := leaf || '_copy';
    bounds text[];
    name   text;
BEGIN
    SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') INTO STRICT bounds
      FROM pg_class c WHERE c.oid = format('pinledger.%I', leaf)::regclass;
    EXECUTE format('ALTER TABLE pinledger.event DETACH PARTITION pinledger.%I', leaf);
    EXECUTE format('DROP TABLE pinledger.%I', leaf);
    EXECUTE format('ALTER TABLE pinledger.%I RENAME TO %I', copy, leaf);
    FOR name IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = format('pinledger.%I', leaf)::regclass LOOP
        EXECUTE format('ALTER INDEX pinledger.%I RENAME TO %I', name, replace(name, copy, leaf));
    END LOOP;
    EXECUTE format('ALTER TABLE pinledger.event ATTACH PARTITION pinledger.%I FOR VALUES FROM (%s) TO (%s)',
        leaf, bounds[1], bounds[2]);
    EXECUTE format('ALTER TABLE pinledger.%I ENABLE ALWAYS TRIGGER refuse_change', leaf);
    -- The partition's own bounds say the same.
    EXECUTE format('ALTER TABLE pinledger.%I DROP CONSTRAINT %I', leaf, leaf || '_range');
    IF p_prune THEN
        INSERT INTO pinledger.pruned_partition (first_position, end_position) VALUES (p_first, bounds[2]::bigint);
    ELSE
        DELETE FROM pinledger.pruned_partition WHERE first_position = p_first;
    END IF;
END
$$;
