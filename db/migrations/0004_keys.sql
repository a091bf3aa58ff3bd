SET LOCAL ROLE pinledger_owner;

-- Secrets, sealed under a key-encryption key that the database does not know. They are not in the ledger, because what
-- is in the ledger can never be erased. The application reads them; pinledger_reader never does. A login of the application may store any
-- row: their sizes are bounded here, and nodes read only those that the ledger names.
--
-- The …_except functions erase all secrets but those named. They keep those of the last day, because the ledger may be
-- about to name them.

-- Private halves of the keys that sign documents.
CREATE TABLE pinledger.signing_secret (
    kid        text        COLLATE "C" PRIMARY KEY CHECK (octet_length(kid) BETWEEN 1 AND 300),
    kek_id     text        COLLATE "C" NOT NULL CHECK (octet_length(kek_id) BETWEEN 1 AND 100),
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) BETWEEN 1 AND 64),
    ciphertext bytea       NOT NULL CHECK (octet_length(ciphertext) BETWEEN 1 AND 16384),
    created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON pinledger.signing_secret TO pinledger_app;

CREATE FUNCTION pinledger.store_signing_secret(p_kid text, p_kek_id text, p_nonce bytea, p_ciphertext bytea)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO signing_secret (kid, kek_id, nonce, ciphertext) VALUES (p_kid, p_kek_id, p_nonce, p_ciphertext)
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_signing_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_signing_secret(p_kid text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM signing_secret WHERE kid = p_kid
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_signing_secret TO pinledger_app;

-- Private halves of the keys that sign deployed clients' formats.
CREATE TABLE pinledger.client_secret (
    secret     text        COLLATE "C" PRIMARY KEY CHECK (octet_length(secret) BETWEEN 1 AND 300),
    app        text        COLLATE "C" NOT NULL CHECK (octet_length(app) BETWEEN 1 AND 300),
    kek_id     text        COLLATE "C" NOT NULL CHECK (octet_length(kek_id) BETWEEN 1 AND 100),
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) BETWEEN 1 AND 64),
    ciphertext bytea       NOT NULL CHECK (octet_length(ciphertext) BETWEEN 1 AND 16384),
    created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON pinledger.client_secret TO pinledger_app;

-- The same key may be imported twice: sealed a second time, it is the same secret.
CREATE FUNCTION pinledger.store_client_secret(
    p_secret text, p_app text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO client_secret (secret, app, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_app, p_kek_id, p_nonce, p_ciphertext)
        ON CONFLICT (secret) DO UPDATE
       SET kek_id = excluded.kek_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext, created_at = now()
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_client_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_client_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM client_secret s WHERE s.secret = p_secret
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_client_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_client_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM client_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_client_secrets_except TO pinledger_app;

-- Keys with which clients sign their reports.
CREATE TABLE pinledger.telemetry_secret (
    secret     text        COLLATE "C" PRIMARY KEY CHECK (octet_length(secret) BETWEEN 1 AND 300),
    app        text        COLLATE "C" NOT NULL CHECK (octet_length(app) BETWEEN 1 AND 300),
    kek_id     text        COLLATE "C" NOT NULL CHECK (octet_length(kek_id) BETWEEN 1 AND 100),
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) BETWEEN 1 AND 64),
    ciphertext bytea       NOT NULL CHECK (octet_length(ciphertext) BETWEEN 1 AND 16384),
    created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON pinledger.telemetry_secret TO pinledger_app;

CREATE FUNCTION pinledger.store_telemetry_secret(
    p_secret text, p_app text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO telemetry_secret (secret, app, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_app, p_kek_id, p_nonce, p_ciphertext)
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_telemetry_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_telemetry_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM telemetry_secret s WHERE s.secret = p_secret
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_telemetry_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_telemetry_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM telemetry_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_telemetry_secrets_except TO pinledger_app;

-- Keys with which webhooks' deliveries are signed.
CREATE TABLE pinledger.webhook_secret (
    secret     text        COLLATE "C" PRIMARY KEY CHECK (octet_length(secret) BETWEEN 1 AND 300),
    webhook    text        COLLATE "C" NOT NULL CHECK (octet_length(webhook) BETWEEN 1 AND 300),
    kek_id     text        COLLATE "C" NOT NULL CHECK (octet_length(kek_id) BETWEEN 1 AND 100),
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) BETWEEN 1 AND 64),
    ciphertext bytea       NOT NULL CHECK (octet_length(ciphertext) BETWEEN 1 AND 16384),
    created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON pinledger.webhook_secret TO pinledger_app;

CREATE FUNCTION pinledger.store_webhook_secret(
    p_secret text, p_webhook text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO webhook_secret (secret, webhook, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_webhook, p_kek_id, p_nonce, p_ciphertext)
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_webhook_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_webhook_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM webhook_secret s WHERE s.secret = p_secret
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_webhook_secret TO pinledger_app;

CREATE FUNCTION pinledger.erase_webhook_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM webhook_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_webhook_secrets_except TO pinledger_app;

-- Changing the key-encryption key -------------------------------------------------------------------------------------

-- All secrets, and the key-encryption key under which each is sealed. An auditor may see this.
CREATE FUNCTION pinledger.sealed_secrets() RETURNS TABLE (kind text, id text, owner text, kek_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    SELECT 'signing', kid, '', kek_id FROM signing_secret
    UNION ALL SELECT 'client', secret, app, kek_id FROM client_secret
    UNION ALL SELECT 'telemetry', secret, app, kek_id FROM telemetry_secret
    UNION ALL SELECT 'webhook', secret, webhook, kek_id FROM webhook_secret
$$;
GRANT EXECUTE ON FUNCTION pinledger.sealed_secrets TO pinledger_app, pinledger_reader;

-- Keeps other sessions from changing secrets until the transaction ends. Reads go on.
CREATE FUNCTION pinledger.lock_secrets() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
BEGIN
    LOCK TABLE signing_secret, client_secret, telemetry_secret, webhook_secret IN SHARE ROW EXCLUSIVE MODE;
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.lock_secrets TO pinledger_app;

-- Replaces the sealed form of the secrets of one kind whose nonces are p_from. Returns how many it replaced.
CREATE FUNCTION pinledger.rewrap_secrets(
    p_kind text, p_id text[], p_from bytea[], p_kek_id text, p_nonce bytea[], p_ciphertext bytea[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    taken bigint;
BEGIN
    CASE p_kind
        WHEN 'signing' THEN
            UPDATE signing_secret s SET kek_id = p_kek_id, nonce = n.nonce, ciphertext = n.ciphertext
              FROM unnest(p_id, p_from, p_nonce, p_ciphertext) n (id, old, nonce, ciphertext)
             WHERE s.kid = n.id AND s.nonce = n.old;
        WHEN 'client' THEN
            UPDATE client_secret s SET kek_id = p_kek_id, nonce = n.nonce, ciphertext = n.ciphertext
              FROM unnest(p_id, p_from, p_nonce, p_ciphertext) n (id, old, nonce, ciphertext)
             WHERE s.secret = n.id AND s.nonce = n.old;
        WHEN 'telemetry' THEN
            UPDATE telemetry_secret s SET kek_id = p_kek_id, nonce = n.nonce, ciphertext = n.ciphertext
              FROM unnest(p_id, p_from, p_nonce, p_ciphertext) n (id, old, nonce, ciphertext)
             WHERE s.secret = n.id AND s.nonce = n.old;
        WHEN 'webhook' THEN
            UPDATE webhook_secret s SET kek_id = p_kek_id, nonce = n.nonce, ciphertext = n.ciphertext
              FROM unnest(p_id, p_from, p_nonce, p_ciphertext) n (id, old, nonce, ciphertext)
             WHERE s.secret = n.id AND s.nonce = n.old;
    END CASE;
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN taken;
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.rewrap_secrets TO pinledger_app;

-- Public keys and certificates ----------------------------------------------------------------------------------------

-- The bytes of public keys and certificates. The ledger knows them by digest alone: a key by its pin, a certificate by
-- its fingerprint. The ledger is right without them; what is missing here was not kept. None of it is secret.
CREATE TABLE pinledger.material (
    digest    bytea       NOT NULL,
    -- A SubjectPublicKeyInfo, or a whole certificate (RFC 5280).
    kind      text        COLLATE "C" NOT NULL CHECK (kind IN ('public_key', 'certificate')),
    der       bytea       NOT NULL CHECK (octet_length(der) BETWEEN 1 AND 131072),
    stored_at timestamptz NOT NULL DEFAULT now(),
    -- Includes the time, so that the sweep finds what is old without reading the bytes.
    PRIMARY KEY (digest) INCLUDE (stored_at),
    CHECK (digest = sha256(der))
);
GRANT SELECT ON pinledger.material TO pinledger_app, pinledger_reader;

-- Storing what is already there renews its time: the ledger may be about to name it.
CREATE FUNCTION pinledger.store_material(p_kind text[], p_der bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO material AS m (digest, kind, der)
    SELECT DISTINCT ON (1) sha256(n.der), n.kind, n.der FROM unnest(p_kind, p_der) n (kind, der)
     -- All writers use the same order, so two of them cannot wait for each other.
     ORDER BY 1
        ON CONFLICT (digest) DO UPDATE SET stored_at = now() WHERE m.stored_at < now() - interval '1 hour'
$$;
GRANT EXECUTE ON FUNCTION pinledger.store_material TO pinledger_app;

-- Erases what p_digests lists, except what was stored in the last day: the ledger may be about to name it. p_position
-- is the first position that the caller has not read. If the event there is older than an hour, nothing is erased: it
-- or a later one may name what the caller takes for unnamed. Returns how many it erased.
CREATE FUNCTION pinledger.erase_material(p_digests bytea[], p_position bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM material m
         WHERE m.digest = ANY (p_digests) AND m.stored_at < now() - interval '1 day'
           AND NOT EXISTS (
               SELECT FROM event e WHERE e.position = p_position AND e.recorded_at < now() - interval '1 hour')
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.erase_material TO pinledger_app;
