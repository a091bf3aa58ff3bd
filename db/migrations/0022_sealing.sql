SET LOCAL ROLE pinledger_owner;

-- Forgets snapshots of earlier forms, those of the last day excepted: until then the program before may come back. None
-- before there is one of the form p_fold. Says how many.
CREATE FUNCTION pinledger.forget_snapshots(p_fold integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM snapshot s
         WHERE s.fold_version < p_fold AND s.created_at < now() - interval '1 day'
           AND EXISTS (SELECT FROM snapshot n WHERE n.fold_version = p_fold)
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- Which secrets there are, and under which key-encryption key each is sealed: what an auditor may see, who never sees a
-- private key, sealed or not.
CREATE FUNCTION pinledger.sealed_secrets() RETURNS TABLE (kind text, id text, owner text, kek_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    SELECT 'signing', kid, '', kek_id FROM signing_secret
    UNION ALL SELECT 'client', secret, app, kek_id FROM client_secret
    UNION ALL SELECT 'telemetry', secret, app, kek_id FROM telemetry_secret
    UNION ALL SELECT 'webhook', secret, webhook, kek_id FROM webhook_secret
$$;

-- Keeps everybody else from changing secrets until the transaction ends; they go on being read.
CREATE FUNCTION pinledger.lock_secrets() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
BEGIN
    LOCK TABLE signing_secret, client_secret, telemetry_secret, webhook_secret IN SHARE ROW EXCLUSIVE MODE;
END
$$;

-- Puts other sealed forms of secrets of one kind in place of those with the nonces p_from. Says how many.
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

-- Gives a snapshot another tag, where it has the one named. Says whether it had.
CREATE FUNCTION pinledger.retag_snapshot(p_fold integer, p_position bigint, p_from bytea, p_to bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH taken AS (
        UPDATE snapshot s SET digest = p_to
         WHERE s.fold_version = p_fold AND s.position = p_position AND s.digest = p_from
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM taken)
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.forget_snapshots, pinledger.lock_secrets, pinledger.rewrap_secrets,
    pinledger.retag_snapshot TO pinledger_app;
GRANT EXECUTE ON FUNCTION pinledger.sealed_secrets TO pinledger_app, pinledger_reader;
