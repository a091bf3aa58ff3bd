SET LOCAL ROLE pinledger_owner;

-- What nodes that may not append have counted of operators' requests: those that were refused, and reads of what is confidential. A node
-- that may append takes it into the ledger. A login of a read-only node could have written it; the ledger says so with the node's name.

CREATE TABLE pinledger.audit_deposit (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node         text        COLLATE "C" NOT NULL CHECK (octet_length(node) BETWEEN 1 AND 300),
    -- An array of records in JSON, as they stand in the ledger's events.
    records      bytea       NOT NULL CHECK (octet_length(records) BETWEEN 2 AND 49152),
    omitted      bigint      NOT NULL CHECK (omitted BETWEEN 0 AND 9007199254740991),
    deposited_at timestamptz NOT NULL,
    -- Until when it is left to the node that records it; NULL for none.
    leased_until timestamptz
);
GRANT SELECT ON pinledger.audit_deposit TO pinledger_app;

-- Keeps what a node has counted, for another one to record. False where there is no room: at most 1000 deposits wait.
CREATE FUNCTION pinledger.deposit_audit(p_node text, p_records bytea, p_omitted bigint) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH kept AS (
        INSERT INTO audit_deposit (node, records, omitted, deposited_at)
        SELECT p_node, p_records, p_omitted, now() WHERE (SELECT count(*) FROM audit_deposit) < 1000
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM kept)
$$;
GRANT EXECUTE ON FUNCTION pinledger.deposit_audit TO pinledger_app, pinledger_reader;

-- Leaves the oldest deposits to the caller for a minute, in which it records them. A lease that ends later than that is of a clock
-- that was ahead, and holds up nothing.
CREATE FUNCTION pinledger.lease_audit_deposits(p_limit integer)
RETURNS TABLE (id bigint, node text, records bytea, omitted bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    UPDATE audit_deposit d SET leased_until = now() + interval '1 minute'
     WHERE d.id IN (
        SELECT o.id FROM audit_deposit o WHERE o.leased_until IS NULL
            OR o.leased_until NOT BETWEEN now() AND now() + interval '2 minutes'
         ORDER BY o.id LIMIT least(p_limit, 100) FOR UPDATE SKIP LOCKED)
    RETURNING d.id, d.node, d.records, d.omitted
$$;
GRANT EXECUTE ON FUNCTION pinledger.lease_audit_deposits TO pinledger_app;

-- Removes a deposit that is recorded, or cannot be.
CREATE FUNCTION pinledger.settle_audit_deposit(p_id bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM audit_deposit WHERE id = p_id
$$;
GRANT EXECUTE ON FUNCTION pinledger.settle_audit_deposit TO pinledger_app;
