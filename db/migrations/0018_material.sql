SET LOCAL ROLE pinledger_owner;

-- The bytes of public keys and certificates, which the ledger knows by their digests alone: a key by its pin, a
-- certificate by its fingerprint. What is missing here was not kept; the ledger is right without it. None is secret.
CREATE TABLE pinledger.material (
    digest    bytea       NOT NULL,
    -- A SubjectPublicKeyInfo, or a whole certificate (RFC 5280).
    kind      text        NOT NULL CHECK (kind IN ('public_key', 'certificate')),
    der       bytea       NOT NULL CHECK (octet_length(der) BETWEEN 1 AND 131072),
    stored_at timestamptz NOT NULL DEFAULT now(),
    -- The time beside it, for the sweep to find what is old without reading the bytes.
    PRIMARY KEY (digest) INCLUDE (stored_at),
    CHECK (digest = sha256(der))
);

-- What is there already stays as it is, and counts as young again: whoever shows it may have the ledger name it next.
CREATE FUNCTION pinledger.store_material(p_kind text[], p_der bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO material AS m (digest, kind, der)
    SELECT DISTINCT ON (1) sha256(n.der), n.kind, n.der FROM unnest(p_kind, p_der) n (kind, der)
     -- One order for everybody, so that two writers cannot wait for each other.
     ORDER BY 1
        ON CONFLICT (digest) DO UPDATE SET stored_at = now() WHERE m.stored_at < now() - interval '1 hour'
$$;

-- Erases what is named, but for that of the last day: the ledger may not have come to name it yet. Nothing at all where
-- the event at p_position, up to which the caller knows the ledger, is older than an hour: it, or one after it, may name
-- what the caller takes for unnamed. Says how many.
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.store_material, pinledger.erase_material TO pinledger_app;
GRANT SELECT ON pinledger.material TO pinledger_app, pinledger_reader;
