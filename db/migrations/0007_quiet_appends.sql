SET LOCAL ROLE pinledger_owner;

DROP FUNCTION pinledger.append;

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
CREATE FUNCTION pinledger.append(
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
    UPDATE head h SET next_position = p_position + count, frontier = p_new_frontier, last_time = p_time
     WHERE h.singleton AND h.next_position = p_position AND h.frontier = p_frontier AND h.last_time <= p_time
    RETURNING h.next_position INTO head;
    IF NOT FOUND THEN
        SELECT h.next_position, h.last_time INTO STRICT head, previous FROM head h WHERE h.singleton FOR UPDATE;
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
             WHERE s.before = 0
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS created = ROW_COUNT;
        END IF;
        IF created < cardinality(s_name) THEN
            UPDATE stream t SET version = s.after, last_position = s.last
              FROM unnest(s_name, s_before, s_after, s_last) s (name, before, after, last)
             WHERE s.before > 0 AND t.name = s.name AND t.version = s.before;
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

REVOKE ALL ON FUNCTION pinledger.append FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.append TO pinledger_app;
