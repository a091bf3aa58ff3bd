SET LOCAL ROLE pinledger_owner;

-- The current signed document of each app: the bytes that every node serves.
CREATE TABLE pinledger.document (
    app            text        PRIMARY KEY,
    version        bigint      NOT NULL CHECK (version > 0),
    -- The position after the last event that the document takes in.
    position       bigint      NOT NULL,
    content_sha256 bytea       NOT NULL CHECK (octet_length(content_sha256) = 32),
    issued_at      timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    kid            text        NOT NULL,
    body           bytea       NOT NULL
) WITH (fillfactor = 70);

-- Stores documents. One that is not newer than what stands there (version, then issue time) is passed over, so that any
-- number of nodes may sign and what is served never goes back. The same version with other content is an error (PL003).
-- Returns the apps whose documents were taken.
CREATE FUNCTION pinledger.publish_documents(
    p_app text[], p_version bigint[], p_position bigint[], p_content_sha256 bytea[], p_issued_at timestamptz[],
    p_expires_at timestamptz[], p_kid text[], p_body bytea[]
) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    taken text[];
    clash text;
BEGIN
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
        RETURNING d.app
    )
    SELECT array_agg(app) INTO taken FROM stored;

    -- Only now, with the rows locked: another publisher may have stored its content a moment ago.
    SELECT d.app INTO clash
      FROM unnest(p_app, p_version, p_content_sha256) n (app, version, content_sha256)
      JOIN document d ON d.app = n.app AND d.version = n.version AND d.content_sha256 <> n.content_sha256
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document of % would change its content within one version', clash USING ERRCODE = 'PL003';
    END IF;
    IF taken IS NOT NULL THEN
        PERFORM pg_notify('pinledger_document', CASE WHEN cardinality(taken) = 1 THEN taken[1] ELSE '' END);
    END IF;
    RETURN coalesce(taken, '{}');
END
$$;

-- Private halves of signing keys, sealed under a key that the database does not know. Not in the ledger, because what
-- is in the ledger can never be erased.
CREATE TABLE pinledger.signing_secret (
    kid        text        PRIMARY KEY,
    kek_id     text        NOT NULL,
    nonce      bytea       NOT NULL,
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION pinledger.store_signing_secret(p_kid text, p_kek_id text, p_nonce bytea, p_ciphertext bytea)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO signing_secret (kid, kek_id, nonce, ciphertext) VALUES (p_kid, p_kek_id, p_nonce, p_ciphertext)
$$;

CREATE FUNCTION pinledger.erase_signing_secret(p_kid text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM signing_secret WHERE kid = p_kid
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.publish_documents, pinledger.store_signing_secret, pinledger.erase_signing_secret
    TO pinledger_app;
GRANT SELECT ON pinledger.document TO pinledger_app, pinledger_reader;
GRANT SELECT ON pinledger.signing_secret TO pinledger_app;
