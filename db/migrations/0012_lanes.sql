SET LOCAL ROLE pinledger_owner;

-- What is delivered one after the other: the events of one stream, and the warnings about an app behind or before its own.
ALTER TABLE pinledger.webhook_delivery
    ADD COLUMN lane text NOT NULL GENERATED ALWAYS AS (regexp_replace(stream, '^watch/', 'app/')) STORED;
DROP INDEX pinledger.webhook_delivery_open;
CREATE INDEX webhook_delivery_open ON pinledger.webhook_delivery (webhook, lane, position)
    WHERE state IN ('pending', 'failed');

-- Leases what is due, of each webhook at most as many as p_slots says, for p_lease seconds. Of a lane only the first open
-- delivery is ever leased, and only while none of its others is.
CREATE OR REPLACE FUNCTION pinledger.lease_deliveries(p_webhooks text[], p_slots integer[], p_lease integer, p_node text)
RETURNS TABLE (webhook text, "position" bigint, attempt integer, attempts_before integer, first_attempt_at timestamptz,
    entry bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
    hook  text;
    slots integer;
BEGIN
    FOR hook, slots IN SELECT w.webhook, w.slots FROM unnest(p_webhooks, p_slots) w (webhook, slots) LOOP
        RETURN QUERY
        WITH heads AS (
            SELECT min(d.position) AS position FROM webhook_delivery d
             WHERE d.webhook = hook AND d.state IN ('pending', 'failed')
             GROUP BY d.lane
            HAVING bool_and(d.lease_until IS NULL OR d.lease_until <= now())
        ), due AS (
            SELECT d.position FROM webhook_delivery d JOIN heads h ON h.position = d.position
             WHERE d.webhook = hook AND d.state IN ('pending', 'failed') AND d.next_attempt_at <= now()
               AND (d.lease_until IS NULL OR d.lease_until <= now())
             ORDER BY d.position LIMIT slots
               FOR UPDATE OF d SKIP LOCKED
        )
        UPDATE webhook_delivery d
           SET attempts = d.attempts + 1, lease_until = now() + make_interval(secs => p_lease), node = p_node,
               first_attempt_at = coalesce(d.first_attempt_at, now()), last_attempt_at = now()
          FROM due JOIN event e ON e.position = due.position
         WHERE d.webhook = hook AND d.position = due.position
        RETURNING d.webhook, d.position, d.attempts, d.attempts_before, d.first_attempt_at, e.entry;
    END LOOP;
END
$$;
