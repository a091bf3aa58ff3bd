SET LOCAL ROLE pinledger_owner;

-- A document costs the same to store and to find however old the oldest snapshot is.
--
-- Under a key that is the app alone, who looks for a document passes by every version of its row that a snapshot (a dump,
-- a stuck session) still keeps. With the version in the key the newest row is the first that is found. That key does not
-- say that an app has one document: publish_documents does, one publisher of an app at a time.
ALTER TABLE pinledger.document DROP CONSTRAINT document_pkey, ADD PRIMARY KEY (app, version);

-- The apps that have a document. Publishers of an app's document take turns by locking its row, which never changes.
CREATE TABLE pinledger.published_app (app text PRIMARY KEY);
INSERT INTO pinledger.published_app SELECT DISTINCT app FROM pinledger.document;

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
CREATE OR REPLACE FUNCTION pinledger.publish_documents(
    p_app text[], p_version bigint[], p_position bigint[], p_content_sha256 bytea[], p_issued_at timestamptz[],
    p_expires_at timestamptz[], p_kid text[], p_body bytea[],
    p_leaf_hash bytea[] DEFAULT NULL, p_unfit bytea[] DEFAULT NULL
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
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

    -- In one order for everybody, so that two publishers cannot wait for each other. Each statement below sees what the
    -- publisher before stored.
    INSERT INTO published_app SELECT DISTINCT a.app FROM unnest(p_app) a (app) ORDER BY 1 ON CONFLICT DO NOTHING;
    PERFORM FROM published_app a WHERE a.app = ANY (p_app) ORDER BY a.app FOR UPDATE;

    -- A second document of an app, which only a hand can have written, is not in the way of mending the first.
    DELETE FROM document d USING unnest(p_app, p_version, p_unfit) n (app, version, unfit)
     WHERE n.unfit IS NOT NULL AND d.app = n.app AND d.version = n.version
       AND EXISTS (SELECT FROM document o WHERE o.app = n.app AND o.version > n.version);

    WITH wanted AS MATERIALIZED (
        SELECT n.*, d.version AS before
          FROM unnest(p_app, p_version, p_position, p_content_sha256, p_issued_at, p_expires_at, p_kid, p_body, p_unfit)
               n (app, version, position, content_sha256, issued_at, expires_at, kid, body, unfit)
          LEFT JOIN LATERAL (
              SELECT * FROM document d WHERE d.app = n.app ORDER BY d.version DESC LIMIT 1
          ) d ON true
         WHERE d.version IS NULL
            OR n.version > d.version
            OR n.version = d.version AND n.issued_at > d.issued_at AND n.content_sha256 = d.content_sha256
            OR sha256(d.body) = n.unfit
               AND (n.version = d.version
                    OR d.version > (SELECT sum(s.version) FROM stream s WHERE s.name IN ('app/' || n.app, 'fleet')))
    ), changed AS (
        UPDATE document d
           SET version = w.version, position = w.position, content_sha256 = w.content_sha256, issued_at = w.issued_at,
               expires_at = w.expires_at, kid = w.kid, body = w.body
          FROM wanted w WHERE d.app = w.app AND d.version = w.before
        RETURNING d.app, d.version, d.issued_at
    ), made AS (
        INSERT INTO document AS d (app, version, position, content_sha256, issued_at, expires_at, kid, body)
        SELECT w.app, w.version, w.position, w.content_sha256, w.issued_at, w.expires_at, w.kid, w.body
          FROM wanted w WHERE w.before IS NULL
        RETURNING d.app, d.version, d.issued_at
    )
    SELECT array_agg(app), string_agg(format('%s@%s@%s', app, version, extract(epoch FROM issued_at)::bigint), ' ')
      INTO taken, news FROM (TABLE changed UNION ALL TABLE made) stored;

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
