SET LOCAL ROLE pinledger_owner;

-- Locks the head for the rest of the transaction and says where it stands. For a writer that lost a race: with the lock
-- held nobody can move the head between its reading and its append.
CREATE FUNCTION pinledger.lock_head(OUT next_position bigint, OUT frontier bytea, OUT last_time timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    SELECT next_position, frontier, last_time FROM head WHERE singleton FOR UPDATE
$$;

-- The only way to write to the ledger. Takes one batch of decided commands.
--
-- Returns one of
--   outcome 'appended'   and the new head
--   outcome 'moved'      another writer came first: nothing is written, `head` says where the ledger ends now
--   outcome 'duplicate'  commands of the batch were recorded before: nothing is written, `duplicates` holds their
--                        places in the batch, from 1
-- Raises
--   PL001  the batch does not fit the streams it names (cannot happen after a correct fold)
--   PL002  the batch's time lies before the last event's
CREATE FUNCTION pinledger.append(
    p_position bigint, p_frontier bytea, p_new_frontier bytea, p_time timestamptz,
    e_stream text[], e_version bigint[], e_type text[], e_actor_kind text[], e_actor_id text[], e_entry bytea[],
    n_level smallint[], n_index bigint[], n_hash bytea[],
    s_name text[], s_before bigint[], s_after bigint[],
    c_actor text[], c_key text[], c_digest bytea[], c_first bigint[], c_count integer[],
    OUT outcome text, OUT head bigint, OUT duplicates bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    count    bigint := cardinality(e_stream);
    current  head%ROWTYPE;
    created  bigint;
    advanced bigint;
BEGIN
    SELECT * INTO STRICT current FROM head h WHERE h.singleton FOR UPDATE;
    IF current.next_position <> p_position OR current.frontier <> p_frontier THEN
        outcome := 'moved';
        head := current.next_position;
        RETURN;
    END IF;

    IF cardinality(c_key) > 0 THEN
        SELECT array_agg(c.place) INTO duplicates
          FROM unnest(c_actor, c_key) WITH ORDINALITY c (actor, key, place)
          JOIN command USING (actor, key);
        IF duplicates IS NOT NULL THEN
            outcome := 'duplicate';
            head := current.next_position;
            RETURN;
        END IF;
        INSERT INTO command (actor, key, digest, first_position, event_count, recorded_at)
        SELECT * FROM unnest(c_actor, c_key, c_digest, c_first, c_count) c, (SELECT p_time) t;
    END IF;

    head := p_position + count;
    IF count > 0 THEN
        IF p_time < current.last_time THEN
            RAISE EXCEPTION 'time % lies before the last event''s, %', p_time, current.last_time
                USING ERRCODE = 'PL002';
        END IF;

        INSERT INTO event (position, stream_version, recorded_at, stream, type, actor_kind, actor_id, entry, leaf_hash)
        SELECT p_position + e.place - 1, e.version, p_time, e.stream, e.type, e.actor_kind, e.actor_id, e.entry,
               sha256('\x00'::bytea || e.entry)
          FROM unnest(e_stream, e_version, e_type, e_actor_kind, e_actor_id, e_entry)
               WITH ORDINALITY e (stream, version, type, actor_kind, actor_id, entry, place);

        INSERT INTO tree_node (level, index, hash) SELECT * FROM unnest(n_level, n_index, n_hash);

        INSERT INTO stream (name, version, last_position)
        SELECT s.name, s.after, head - 1 FROM unnest(s_name, s_before, s_after) s (name, before, after)
         WHERE s.before = 0
            ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS created = ROW_COUNT;
        UPDATE stream t SET version = s.after, last_position = head - 1
          FROM unnest(s_name, s_before, s_after) s (name, before, after)
         WHERE s.before > 0 AND t.name = s.name AND t.version = s.before;
        GET DIAGNOSTICS advanced = ROW_COUNT;
        IF created + advanced <> cardinality(s_name) THEN
            RAISE EXCEPTION 'a stream is not at the version the batch expects' USING ERRCODE = 'PL001';
        END IF;

        UPDATE head h SET next_position = append.head, frontier = p_new_frontier, last_time = p_time WHERE h.singleton;
        PERFORM pg_notify('pinledger_position', head::text);
    END IF;
    outcome := 'appended';
END
$$;

-- Forgets commands recorded before `before`, and never those of the last day: the promised life of a key.
CREATE FUNCTION pinledger.forget_commands(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM command WHERE recorded_at < least(before, now() - interval '1 day') RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- Keeps a snapshot, and of its fold version only the newest three.
CREATE FUNCTION pinledger.store_snapshot(p_fold integer, p_position bigint, p_frontier bytea, p_digest bytea, p_body bytea)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO snapshot (fold_version, position, frontier, digest, body)
    VALUES (p_fold, p_position, p_frontier, p_digest, p_body)
        ON CONFLICT DO NOTHING;
    DELETE FROM snapshot s
     WHERE s.fold_version = p_fold
       AND s.position NOT IN (SELECT position FROM snapshot WHERE fold_version = p_fold ORDER BY position DESC LIMIT 3);
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.lock_head, pinledger.append, pinledger.forget_commands, pinledger.store_snapshot
    TO pinledger_app;
