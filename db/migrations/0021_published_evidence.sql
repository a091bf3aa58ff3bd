SET LOCAL ROLE pinledger_owner;

DROP FUNCTION pinledger.publish_documents;

-- Stores documents. One that is not newer than what stands there (version, then issue time) is passed over, so that any
-- number of nodes may sign and what is served never goes back. The same version with other content is an error (PL003).
-- So is a document of events that this ledger does not hold (PL004): its position lies beyond the head, its version
-- beyond its streams, or the event before its position has another hash than the signer knows (`p_leaf_hash`; NULL for a
-- signer that does not say). A database that was promoted without its last events takes no documents of those.
--
-- The signer names what it found to be no document in `p_unfit`: the SHA-256 of the stored body, or NULL. That one gives
-- way to any document of its version or a later one, whatever stands in its other columns; and where its version lies
-- beyond its streams, to any document at all.
--
-- Returns the apps whose documents were taken, and tells the listening nodes: one word for each, app@version@seconds of
-- its issue, so that a node fetches only what it does not have; or nothing where that is too long for a notification, and
-- each node looks for itself.
CREATE FUNCTION pinledger.publish_documents(
    p_app text[], p_version bigint[], p_position bigint[], p_content_sha256 bytea[], p_issued_at timestamptz[],
    p_expires_at timestamptz[], p_kid text[], p_body bytea[],
    p_leaf_hash bytea[] DEFAULT NULL, p_unfit bytea[] DEFAULT NULL
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
    taken   text[];
    news    text;
    stray   text;
    clash   text;
BEGIN
    SELECT n.app INTO stray
      FROM unnest(p_app, p_version, p_position, p_leaf_hash) n (app, version, position, leaf_hash)
     WHERE n.position NOT BETWEEN 1 AND coalesce((SELECT h.next_position FROM head h ORDER BY h.position_block DESC LIMIT 1), 0)
        OR n.version > coalesce((SELECT sum(s.version) FROM stream s WHERE s.name IN ('app/' || n.app, 'fleet')), 0)
        OR coalesce(
               (SELECT n.leaf_hash <> e.leaf_hash FROM event e WHERE e.position = n.position - 1),
               n.leaf_hash IS NOT NULL)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document of % was made of events that this ledger does not hold', stray USING ERRCODE = 'PL004';
    END IF;

    WITH stored AS (
        INSERT INTO document AS d (app, version, position, content_sha256, issued_at, expires_at, kid, body)
        SELECT * FROM unnest(p_app, p_version, p_position, p_content_sha256, p_issued_at, p_expires_at, p_kid, p_body) n
         -- One order for everybody, so that two publishers cannot wait for each other.
         ORDER BY 1
            ON CONFLICT (app) DO UPDATE
           SET version = excluded.version, position = excluded.position, content_sha256 = excluded.content_sha256,
               issued_at = excluded.issued_at, expires_at = excluded.expires_at, kid = excluded.kid,
               body = excluded.body
         WHERE excluded.version > d.version
            OR excluded.version = d.version AND excluded.issued_at > d.issued_at
               AND excluded.content_sha256 = d.content_sha256
            OR sha256(d.body) = p_unfit[array_position(p_app, d.app)]
               AND (excluded.version = d.version
                    OR d.version > (SELECT sum(s.version) FROM stream s WHERE s.name IN ('app/' || d.app, 'fleet')))
        RETURNING d.app, d.version, d.issued_at
    )
    SELECT array_agg(app), string_agg(format('%s@%s@%s', app, version, extract(epoch FROM issued_at)::bigint), ' ')
      INTO taken, news FROM stored;

    -- Only now, with the rows locked: another publisher may have stored its content a moment ago.
    SELECT d.app INTO clash
      FROM unnest(p_app, p_version, p_content_sha256) n (app, version, content_sha256)
      JOIN document d ON d.app = n.app AND d.version = n.version AND d.content_sha256 <> n.content_sha256
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document of % would change its content within one version', clash USING ERRCODE = 'PL003';
    END IF;
    IF taken IS NOT NULL THEN
        PERFORM pg_notify('pinledger_document', CASE WHEN octet_length(news) < 7900 THEN news ELSE '' END);
    END IF;
    RETURN coalesce(taken, '{}');
END
$$;

REVOKE ALL ON FUNCTION pinledger.publish_documents FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.publish_documents TO pinledger_app;
