SET LOCAL ROLE pinledger_owner;

-- The current signed document of each app: the bytes that every node serves.
CREATE TABLE pinledger.document (
    -- Nodes read every row, any login's too: so texts are ASCII, and values have a size.
    app            text        COLLATE "C" NOT NULL CHECK (octet_length(app) <= 300 AND app ~ '^[!-~]+$'),
    version        bigint      NOT NULL CHECK (version > 0),
    -- The position after the last event that the document takes in.
    position       bigint      NOT NULL,
    content_sha256 bytea       NOT NULL CHECK (octet_length(content_sha256) = 32),
    issued_at      timestamptz NOT NULL CHECK (issued_at >= '1970-01-01Z' AND issued_at < '10000-01-01Z'),
    expires_at     timestamptz NOT NULL CHECK (expires_at >= '1970-01-01Z' AND expires_at < '10000-01-01Z'),
    kid            text        COLLATE "C" NOT NULL CHECK (octet_length(kid) <= 300 AND kid ~ '^[!-~]+$'),
    body           bytea       NOT NULL CHECK (octet_length(body) <= 4194304),
    -- Which change of the table made the row what it is: grows from commit to commit.
    change         bigint      NOT NULL DEFAULT 0,
    -- The version is the part of the key that grows: the newest row is found first, however old the oldest snapshot is
    -- (see head.position_block). The key does not say that an app has one document: publish_documents sees to that.
    PRIMARY KEY (app, version)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_cost_delay = 0
);
GRANT SELECT ON pinledger.document TO pinledger_app, pinledger_reader;
CREATE INDEX document_by_change ON pinledger.document (change);

-- Changes of documents are numbered, those by hand included, so that a node reads what it has not seen and nothing else. Each statement
-- that makes some locks the one row of document_turn, which never changes, until the commit: no number becomes visible after a higher one.
CREATE SEQUENCE pinledger.document_change;
CREATE TABLE pinledger.document_turn (is_only boolean PRIMARY KEY CHECK (is_only));
INSERT INTO pinledger.document_turn VALUES (true);

CREATE FUNCTION pinledger.take_document_turn() RETURNS trigger LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
BEGIN
    -- By the index: reading the table where `publish_documents` forbids that costs so much on paper that PostgreSQL compiles it first.
    PERFORM FROM document_turn WHERE is_only FOR UPDATE;
    RETURN NULL;
END
$$;
CREATE FUNCTION pinledger.number_document() RETURNS trigger LANGUAGE plpgsql SET search_path = pinledger, pg_temp AS $$
BEGIN
    NEW.change := nextval('document_change');
    RETURN NEW;
END
$$;
CREATE TRIGGER take_turn BEFORE INSERT OR UPDATE ON pinledger.document
    FOR EACH STATEMENT EXECUTE FUNCTION pinledger.take_document_turn();
CREATE TRIGGER number BEFORE INSERT OR UPDATE ON pinledger.document
    FOR EACH ROW EXECUTE FUNCTION pinledger.number_document();

-- The apps that have a document. Publishers of an app's document take turns by locking its row, which never changes.
CREATE TABLE pinledger.published_app (app text COLLATE "C" PRIMARY KEY);

-- The highest version that the ledger allows for an app's document: the number of events of its stream and of the fleet's, and
-- what HistoryRestored events have raised all versions by.
CREATE FUNCTION pinledger.document_version(p_app text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
    SELECT coalesce((SELECT sum(s.version) FROM stream s WHERE s.name IN ('app/' || p_app, 'fleet')), 0)::bigint
         + coalesce((SELECT h.raised_by FROM head h ORDER BY h.position_block DESC LIMIT 1), 0)
$$;

-- Stores documents.
--
-- A document that is not newer than the stored one (by version, then issue time) is skipped: any number of nodes may
-- sign, and what is served never goes back. The same version with other content is an error (PL003). An issue time more
-- than a minute ahead of this database's clock is of a clock that has been put right since: clients refuse such a
-- document, and one of the present takes its place.
--
-- A document made from events that this ledger does not hold is an error too (PL004): its position lies beyond the
-- head, its version beyond its streams, its app has no stream, or the event before its position has another hash than the one the signer knows
-- (p_leaf_hash; NULL if the signer does not say). So a database that was promoted without its last events refuses the
-- documents made from them.
--
-- p_unfit is the SHA-256 of the stored body if the signer found that body not to be a document, or NULL. Such a body is
-- replaced by any document of its version or a later one, whatever its other columns say; and if its version lies
-- beyond its streams, by any document.
--
-- Returns the apps whose documents were stored, and notifies the nodes: one word for each, app@version@seconds of
-- issue, so that a node fetches only what it lacks. If that is too long for a notification, the text is empty and each
-- node looks for itself.
CREATE FUNCTION pinledger.publish_documents(
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
    -- The nodes' Head.tolerance.
    ahead   timestamptz := clock_timestamp() + interval '60 seconds';
BEGIN
    WITH leaves AS MATERIALIZED (
        SELECT p.position, leaf_hash_at(p.position - 1) AS leaf_hash
          FROM (SELECT DISTINCT unnest(p_position) AS position) p
    )
    SELECT n.app INTO stray
      FROM unnest(p_app, p_version, p_position, p_leaf_hash) n (app, version, position, leaf_hash)
      JOIN leaves e ON e.position = n.position
     WHERE n.position NOT BETWEEN 1
               AND coalesce((SELECT h.next_position FROM head h ORDER BY h.position_block DESC LIMIT 1), 0)
        OR n.version > document_version(n.app)
        OR NOT EXISTS (SELECT FROM stream s WHERE s.name = 'app/' || n.app)
        OR coalesce(n.leaf_hash <> e.leaf_hash, n.leaf_hash IS NOT NULL)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document of % was made of events that this ledger does not hold', stray
            USING ERRCODE = 'PL004';
    END IF;

    -- All publishers lock in the same order, so two of them cannot wait for each other. Each statement below sees what
    -- the previous publisher stored.
    INSERT INTO published_app SELECT DISTINCT a.app COLLATE "C" FROM unnest(p_app) a (app) ORDER BY 1
        ON CONFLICT DO NOTHING;
    PERFORM FROM published_app a WHERE a.app = ANY (p_app) ORDER BY a.app FOR UPDATE;

    -- A second document of an app, which can only have been written by hand, must not prevent repairing the first.
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
            OR n.version = d.version AND n.content_sha256 = d.content_sha256
               AND (n.issued_at > d.issued_at OR d.issued_at > ahead AND n.issued_at <= ahead)
            OR sha256(d.body) = n.unfit
               AND (n.version = d.version
                    OR d.version > document_version(n.app))
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

    -- Checked here, with the rows locked: another publisher may have stored its content a moment ago.
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
GRANT EXECUTE ON FUNCTION pinledger.publish_documents TO pinledger_app;
