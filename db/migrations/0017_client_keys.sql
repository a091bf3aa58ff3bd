SET LOCAL ROLE pinledger_owner;

-- The private halves of what deployed clients' formats are signed with, sealed under a key that the database does not
-- know. Not in the ledger, because what is in the ledger can never be erased.
CREATE TABLE pinledger.client_secret (
    secret     text        PRIMARY KEY,
    app        text        NOT NULL,
    kek_id     text        NOT NULL,
    nonce      bytea       NOT NULL,
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The same key may be given again: sealed anew, it is the same secret.
CREATE FUNCTION pinledger.store_client_secret(
    p_secret text, p_app text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO client_secret (secret, app, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_app, p_kek_id, p_nonce, p_ciphertext)
        ON CONFLICT (secret) DO UPDATE
       SET kek_id = excluded.kek_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext, created_at = now()
$$;

CREATE FUNCTION pinledger.erase_client_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM client_secret s WHERE s.secret = p_secret
$$;

-- Erases all secrets but those named, and those of the last day: the ledger may not have come to name them yet.
CREATE FUNCTION pinledger.erase_client_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM client_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.store_client_secret, pinledger.erase_client_secret,
    pinledger.erase_client_secrets_except TO pinledger_app;
GRANT SELECT ON pinledger.client_secret TO pinledger_app;
