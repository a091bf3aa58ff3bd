SET LOCAL ROLE pinledger_owner;

-- How far each webhook has come. The ledger is the outbox: every event before `cursor` is in webhook_delivery or was
-- filtered out, every other one is still to be looked at.
CREATE TABLE pinledger.webhook_feed (
    webhook         text   PRIMARY KEY,
    -- Where the ledger has the event that made it.
    created         bigint NOT NULL CHECK (created >= 0),
    cursor          bigint NOT NULL CHECK (cursor > created),
    -- Since when attempts have failed without one success in between.
    failing_since   timestamptz,
    last_success_at timestamptz
) WITH (fillfactor = 50);

-- What is to be sent, is being sent and was sent. Open (pending, failed) ones are attempted: of each stream one at a
-- time, in the order of positions.
CREATE TABLE pinledger.webhook_delivery (
    webhook          text        NOT NULL,
    position         bigint      NOT NULL,
    stream           text        NOT NULL,
    type             text        NOT NULL,
    state            text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'failed', 'delivered', 'dead')),
    -- All there ever were. The number of the newest one is its token: only it can settle the delivery.
    attempts         integer     NOT NULL DEFAULT 0,
    -- Those before it was last asked for anew; they do not count for how long to wait.
    attempts_before  integer     NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    first_attempt_at timestamptz,
    last_attempt_at  timestamptz,
    next_attempt_at  timestamptz DEFAULT now(),
    -- Until when the attempt that is under way keeps all others off.
    lease_until      timestamptz,
    node             text,
    last_status      integer,
    last_error       text        CHECK (char_length(last_error) <= 500),
    settled_at       timestamptz,
    PRIMARY KEY (webhook, position)
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_open ON pinledger.webhook_delivery (webhook, stream, position)
    WHERE state IN ('pending', 'failed');
CREATE INDEX webhook_delivery_dead ON pinledger.webhook_delivery (webhook, position) WHERE state = 'dead';
CREATE INDEX webhook_delivery_settled ON pinledger.webhook_delivery (settled_at) WHERE settled_at IS NOT NULL;

-- What webhooks are signed with, sealed under a key that the database does not know. Not in the ledger, because what is
-- in the ledger can never be erased.
CREATE TABLE pinledger.webhook_secret (
    secret     text        PRIMARY KEY,
    webhook    text        NOT NULL,
    kek_id     text        NOT NULL,
    nonce      bytea       NOT NULL,
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Begins a webhook's feed behind the event that made it, the p_version-th of the stream `webhooks`. Nothing where it has
-- begun.
CREATE FUNCTION pinledger.open_webhook(p_webhook text, p_version bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO webhook_feed (webhook, created, cursor)
    SELECT p_webhook, e.position, e.position + 1 FROM event e
     WHERE e.stream = 'webhooks' AND e.stream_version = p_version AND e.type = 'WebhookCreated'
        ON CONFLICT DO NOTHING
$$;

-- Forgets a removed webhook, some thousand deliveries at a time. True when nothing is left.
CREATE FUNCTION pinledger.close_webhook(p_webhook text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
BEGIN
    PERFORM FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE;
    DELETE FROM webhook_delivery d WHERE d.webhook = p_webhook AND d.position IN (
        SELECT o.position FROM webhook_delivery o WHERE o.webhook = p_webhook LIMIT 5000);
    IF EXISTS (SELECT FROM webhook_delivery d WHERE d.webhook = p_webhook) THEN
        RETURN false;
    END IF;
    DELETE FROM webhook_secret s WHERE s.webhook = p_webhook;
    DELETE FROM webhook_feed f WHERE f.webhook = p_webhook;
    RETURN true;
END
$$;

-- Takes the next events before position p_until into a webhook's deliveries, those that pass its filters (empty: all),
-- and moves its cursor. Returns the cursor; NULL where somebody else is at it, or where there is no such feed. Takes
-- nothing while ten thousand deliveries are open: they wait in the ledger.
CREATE FUNCTION pinledger.feed_webhook(
    p_webhook text, p_until bigint, p_types text[], p_streams text[], p_limit integer
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    first bigint;
    until bigint;
BEGIN
    SELECT f.cursor INTO first FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT least(p_until, first + least(p_limit, 10000), h.next_position) INTO until FROM head h;
    IF until <= first OR 10000 <= (
        SELECT count(*) FROM webhook_delivery d WHERE d.webhook = p_webhook AND d.state IN ('pending', 'failed')
    ) THEN
        RETURN first;
    END IF;
    INSERT INTO webhook_delivery (webhook, position, stream, type)
    SELECT p_webhook, e.position, e.stream, e.type FROM event e
     WHERE e.position >= first AND e.position < until
       AND (cardinality(p_types) = 0 OR e.type = ANY (p_types))
       AND (cardinality(p_streams) = 0 OR e.stream = ANY (p_streams))
        ON CONFLICT DO NOTHING;
    UPDATE webhook_feed f SET cursor = until WHERE f.webhook = p_webhook;
    RETURN until;
END
$$;

-- Leases what is due, of each webhook at most as many as p_slots says, for p_lease seconds. Of a stream only the first open
-- delivery is ever leased, and only while none of its others is.
CREATE FUNCTION pinledger.lease_deliveries(p_webhooks text[], p_slots integer[], p_lease integer, p_node text)
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
             GROUP BY d.stream
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

-- Says what became of an attempt: 'delivered'; 'failed', to be tried again after p_delay seconds; 'dead', not to be tried
-- again; or 'released', which was not tried to its end and does not count as a failure. Nothing where another attempt has
-- begun since. Returns since when the webhook's attempts have failed; NULL where one has not.
CREATE FUNCTION pinledger.settle_delivery(
    p_webhook text, p_position bigint, p_attempt integer, p_outcome text, p_delay double precision, p_status integer,
    p_error text
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    since timestamptz;
BEGIN
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
    UPDATE webhook_feed f SET failing_since = coalesce(f.failing_since, now()) WHERE f.webhook = p_webhook
    RETURNING f.failing_since INTO since;
    RETURN since;
END
$$;

-- Has settled deliveries at [p_from, p_until) sent again, and failed ones at once. With p_all also events that pass the
-- filters and were not among the deliveries, or are not any more; never those that the feed has not come to. Returns how
-- many.
CREATE FUNCTION pinledger.replay_deliveries(
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
    UPDATE webhook_delivery d
       SET state = CASE WHEN d.state IN ('delivered', 'dead') THEN 'pending' ELSE d.state END,
           attempts_before = d.attempts, first_attempt_at = NULL, next_attempt_at = now(), settled_at = NULL
     WHERE d.webhook = p_webhook AND d.position >= p_from AND d.position < until AND d.lease_until IS NULL;
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

-- Forgets deliveries that were settled before `before`, and never those of the last day; some thousand at a time.
CREATE FUNCTION pinledger.forget_deliveries(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH old AS (
        SELECT d.webhook, d.position FROM webhook_delivery d
         WHERE d.settled_at < least(before, now() - interval '1 day') LIMIT 10000
    ), gone AS (
        DELETE FROM webhook_delivery d USING old o
         WHERE d.webhook = o.webhook AND d.position = o.position AND d.state IN ('delivered', 'dead') RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

CREATE FUNCTION pinledger.store_webhook_secret(
    p_secret text, p_webhook text, p_kek_id text, p_nonce bytea, p_ciphertext bytea
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO webhook_secret (secret, webhook, kek_id, nonce, ciphertext)
    VALUES (p_secret, p_webhook, p_kek_id, p_nonce, p_ciphertext)
$$;

CREATE FUNCTION pinledger.erase_webhook_secret(p_secret text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM webhook_secret s WHERE s.secret = p_secret
$$;

-- Erases all secrets but those named, and those of the last day: the ledger may not have come to name them yet.
CREATE FUNCTION pinledger.erase_webhook_secrets_except(p_secrets text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH gone AS (
        DELETE FROM webhook_secret s
         WHERE s.secret <> ALL (p_secrets) AND s.created_at < now() - interval '1 day' RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pinledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pinledger.open_webhook, pinledger.close_webhook, pinledger.feed_webhook,
    pinledger.lease_deliveries, pinledger.settle_delivery, pinledger.replay_deliveries, pinledger.forget_deliveries,
    pinledger.store_webhook_secret, pinledger.erase_webhook_secret, pinledger.erase_webhook_secrets_except
    TO pinledger_app;
GRANT SELECT ON pinledger.webhook_feed, pinledger.webhook_delivery TO pinledger_app, pinledger_reader;
GRANT SELECT ON pinledger.webhook_secret TO pinledger_app;
