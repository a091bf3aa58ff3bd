SET LOCAL ROLE pinledger_owner;

-- Says what became of an attempt: 'delivered'; 'failed', to be tried again after p_delay seconds; 'dead', not to be tried
-- again; or 'released', which was not tried to its end and does not count as a failure. Nothing where another attempt has
-- begun since. Returns since when the webhook's attempts have failed, with something to deliver all the time; NULL where
-- one has not failed, or where nothing is left to deliver: a failure much later is the first of its own.
CREATE OR REPLACE FUNCTION pinledger.settle_delivery(
    p_webhook text, p_position bigint, p_attempt integer, p_outcome text, p_delay double precision, p_status integer,
    p_error text
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    since timestamptz;
BEGIN
    -- Before any delivery, as everybody who locks both does.
    PERFORM FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE;
    UPDATE webhook_delivery d
       SET state = CASE p_outcome WHEN 'released' THEN d.state ELSE p_outcome END, lease_until = NULL,
           next_attempt_at = CASE WHEN p_outcome IN ('failed', 'released') THEN now() + make_interval(secs => p_delay) END,
           settled_at = CASE WHEN p_outcome IN ('delivered', 'dead') THEN now() END,
           last_status = p_status, last_error = left(p_error, 500)
     WHERE d.webhook = p_webhook AND d.position = p_position AND d.attempts = p_attempt
       AND d.state IN ('pending', 'failed') AND d.lease_until IS NOT NULL;
    IF NOT FOUND OR p_outcome = 'released' THEN
        RETURN NULL;
    END IF;
    IF p_outcome = 'delivered' THEN
        UPDATE webhook_feed f SET failing_since = NULL, last_success_at = now() WHERE f.webhook = p_webhook;
        RETURN NULL;
    END IF;
    IF p_outcome = 'dead' AND NOT EXISTS (
        SELECT FROM webhook_delivery d WHERE d.webhook = p_webhook AND d.state IN ('pending', 'failed')
    ) THEN
        UPDATE webhook_feed f SET failing_since = NULL WHERE f.webhook = p_webhook;
        RETURN NULL;
    END IF;
    UPDATE webhook_feed f SET failing_since = coalesce(f.failing_since, now()) WHERE f.webhook = p_webhook
    RETURNING f.failing_since INTO since;
    RETURN since;
END
$$;

-- Has settled deliveries at [p_from, p_until) sent again, and failed ones at once. With p_all only those that pass the
-- filters, and also events that pass them and were not among the deliveries, or are not any more; never those that the
-- feed has not come to. Returns how many; NULL, and nothing happens, while ten thousand deliveries are open.
CREATE OR REPLACE FUNCTION pinledger.replay_deliveries(
    p_webhook text, p_from bigint, p_until bigint, p_all boolean, p_types text[], p_streams text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    until bigint;
    count bigint := 0;
    added bigint := 0;
BEGIN
    -- The lock keeps the feed from being moved or closed meanwhile.
    SELECT least(p_until, p_from + 10000, f.cursor) INTO until FROM webhook_feed f
     WHERE f.webhook = p_webhook FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    IF 10000 <= (
        SELECT count(*) FROM webhook_delivery d WHERE d.webhook = p_webhook AND d.state IN ('pending', 'failed')
    ) THEN
        RETURN NULL;
    END IF;
    UPDATE webhook_delivery d
       SET state = CASE WHEN d.state IN ('delivered', 'dead') THEN 'pending' ELSE d.state END,
           attempts_before = d.attempts, first_attempt_at = NULL, next_attempt_at = now(), settled_at = NULL
     WHERE d.webhook = p_webhook AND d.position >= p_from AND d.position < until AND d.lease_until IS NULL
       AND (NOT p_all OR (
           (cardinality(p_types) = 0 OR d.type = ANY (p_types))
           AND (cardinality(p_streams) = 0 OR d.stream = ANY (p_streams))));
    GET DIAGNOSTICS count = ROW_COUNT;
    IF p_all THEN
        INSERT INTO webhook_delivery (webhook, position, stream, type)
        SELECT p_webhook, e.position, e.stream, e.type FROM event e
         WHERE e.position >= p_from AND e.position < until
           AND (cardinality(p_types) = 0 OR e.type = ANY (p_types))
           AND (cardinality(p_streams) = 0 OR e.stream = ANY (p_streams))
            ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS added = ROW_COUNT;
    END IF;
    RETURN count + added;
END
$$;

-- Forgets commands recorded before `before`, and never those of the last day: the promised life of a key. Some thousand
-- at a time.
CREATE OR REPLACE FUNCTION pinledger.forget_commands(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM command WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM command WHERE recorded_at < least(before, now() - interval '1 day')
             LIMIT 10000 FOR UPDATE SKIP LOCKED)) RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
