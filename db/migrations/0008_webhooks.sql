SET LOCAL ROLE pinledger_owner;

-- How far each webhook has come. The ledger is the outbox: every event before `cursor` is in webhook_delivery or was
-- filtered out, and every other event is still to be looked at.
CREATE TABLE pinledger.webhook_feed (
    webhook         text   COLLATE "C" PRIMARY KEY,
    -- The position of the event that created it.
    created         bigint NOT NULL CHECK (created >= 0),
    cursor          bigint NOT NULL CHECK (cursor > created),
    -- Since when attempts have failed without a success in between.
    failing_since   timestamptz,
    last_success_at timestamptz
) WITH (fillfactor = 50);
GRANT SELECT ON pinledger.webhook_feed TO pinledger_app, pinledger_reader;

-- What is to be sent, is being sent and was sent. Open deliveries (pending, failed) are attempted: one of a lane at a
-- time, in the order of positions.
CREATE TABLE pinledger.webhook_delivery (
    webhook          text        COLLATE "C" NOT NULL,
    position         bigint      NOT NULL,
    stream           text        COLLATE "C" NOT NULL,
    type             text        COLLATE "C" NOT NULL,
    state            text        COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'failed', 'delivered', 'dead')),
    -- All attempts ever made. The number of the newest one is its token: only it can settle the delivery.
    attempts         integer     NOT NULL DEFAULT 0,
    -- Those before the last replay. They do not count towards the delay.
    attempts_before  integer     NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    first_attempt_at timestamptz,
    last_attempt_at  timestamptz,
    next_attempt_at  timestamptz DEFAULT now(),
    -- Until when the attempt under way keeps others from starting.
    lease_until      timestamptz,
    node             text COLLATE "C",
    last_status      integer,
    last_error       text        COLLATE "C" CHECK (char_length(last_error) <= 500),
    settled_at       timestamptz,
    -- What is delivered in order: the events of one stream. The warnings about an app share the lane of its own events.
    lane             text        COLLATE "C" NOT NULL GENERATED ALWAYS AS (regexp_replace(stream, '^watch/', 'app/')) STORED,
    PRIMARY KEY (webhook, position)
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_open ON pinledger.webhook_delivery (webhook, lane, position)
    WHERE state IN ('pending', 'failed');
CREATE INDEX webhook_delivery_dead ON pinledger.webhook_delivery (webhook, position) WHERE state = 'dead';
CREATE INDEX webhook_delivery_settled ON pinledger.webhook_delivery (settled_at) WHERE settled_at IS NOT NULL;
GRANT SELECT ON pinledger.webhook_delivery TO pinledger_app, pinledger_reader;

-- Starts a webhook's feed after the event that created it, number p_version of the stream `webhooks`. Does nothing if
-- the feed exists.
CREATE FUNCTION pinledger.open_webhook(p_webhook text, p_version bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO webhook_feed (webhook, created, cursor)
    SELECT p_webhook, e.position, e.position + 1 FROM event e
     WHERE e.stream = 'webhooks' AND e.stream_version = p_version AND e.type = 'WebhookCreated'
       AND p_webhook ~ '^[!-~]{1,100}$'
        ON CONFLICT DO NOTHING
$$;
GRANT EXECUTE ON FUNCTION pinledger.open_webhook TO pinledger_app;

-- Deletes what a removed webhook leaves behind, at most five thousand deliveries a call. True when nothing is left.
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
GRANT EXECUTE ON FUNCTION pinledger.close_webhook TO pinledger_app;

-- Takes the next events before position p_until that pass a webhook's filters (empty: all) into its deliveries, and
-- moves its cursor. Returns the cursor; NULL if another node is feeding the webhook, or there is no such feed. Takes
-- nothing while ten thousand deliveries are open: they wait in the ledger.
CREATE FUNCTION pinledger.feed_webhook(
    p_webhook text, p_until bigint, p_types text[], p_streams text[], p_limit integer
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
    first bigint;
    until bigint;
BEGIN
    SELECT f.cursor INTO first FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT least(p_until, first + least(p_limit, 10000), h.next_position) INTO until
      FROM head h ORDER BY h.position_block DESC LIMIT 1;
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
GRANT EXECUTE ON FUNCTION pinledger.feed_webhook TO pinledger_app;

-- Leases due deliveries for p_lease seconds, an hour at the most, and at most p_slots of each webhook. Only the first open delivery of a lane is
-- leased, and only while no other of its lane is. What a clock that was ahead has written holds up nothing: neither a lease nor
-- the time of the next attempt counts where the last attempt, or a delivery without one, is of more than a minute from now.
CREATE FUNCTION pinledger.lease_deliveries(p_webhooks text[], p_slots integer[], p_lease integer, p_node text)
RETURNS TABLE (webhook text, "position" bigint, attempt integer, attempts_before integer, first_attempt_at timestamptz,
    entry bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
    hook  text;
    slots integer;
    ahead timestamptz := now() + interval '1 minute';
BEGIN
    FOR hook, slots IN SELECT w.webhook, w.slots FROM unnest(p_webhooks, p_slots) w (webhook, slots) LOOP
        RETURN QUERY
        WITH heads AS (
            SELECT min(d.position) AS position FROM webhook_delivery d
             WHERE d.webhook = hook AND d.state IN ('pending', 'failed')
             GROUP BY d.lane
            HAVING bool_and(d.lease_until IS NULL OR d.lease_until <= now() OR d.last_attempt_at > ahead)
        ), due AS (
            SELECT d.position FROM webhook_delivery d JOIN heads h ON h.position = d.position
             WHERE d.webhook = hook AND d.state IN ('pending', 'failed')
               AND (d.next_attempt_at <= now() OR coalesce(d.last_attempt_at, d.created_at) > ahead)
               AND (d.lease_until IS NULL OR d.lease_until <= now() OR d.last_attempt_at > ahead)
             ORDER BY d.position LIMIT slots
               FOR UPDATE OF d SKIP LOCKED
        )
        UPDATE webhook_delivery d
           SET attempts = d.attempts + 1, lease_until = now() + make_interval(secs => least(p_lease, 3600)), node = p_node,
               first_attempt_at = coalesce(d.first_attempt_at, now()), last_attempt_at = now()
          FROM due JOIN event e ON e.position = due.position
         WHERE d.webhook = hook AND d.position = due.position
        RETURNING d.webhook, d.position, d.attempts, d.attempts_before, d.first_attempt_at, e.entry;
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.lease_deliveries TO pinledger_app;

-- Records how an attempt ended: 'delivered'; 'failed', to be tried again after p_delay seconds, a week at the most; 'dead', not to be tried
-- again; or 'released', which was given up before its end and does not count as a failure. Does nothing if another
-- attempt has begun since. Returns since when the webhook's attempts have failed, with something to deliver all that
-- time; NULL if this one did not fail, or if nothing is left to deliver: a much later failure is then the first one.
CREATE FUNCTION pinledger.settle_delivery(
    p_webhook text, p_position bigint, p_attempt integer, p_outcome text, p_delay double precision, p_status integer,
    p_error text
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    since timestamptz;
BEGIN
    -- Locked before any delivery, as everywhere that locks both.
    PERFORM FROM webhook_feed f WHERE f.webhook = p_webhook FOR UPDATE;
    UPDATE webhook_delivery d
       SET state = CASE p_outcome WHEN 'released' THEN d.state ELSE p_outcome END, lease_until = NULL,
           next_attempt_at =
               CASE WHEN p_outcome IN ('failed', 'released') THEN now() + make_interval(secs => least(p_delay, 604800)) END,
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
GRANT EXECUTE ON FUNCTION pinledger.settle_delivery TO pinledger_app;

-- Sends settled deliveries at [p_from, p_until) again, and failed ones at once. With p_all only those that pass the
-- filters, and also events that pass them and have no delivery; never events that the feed has not reached. Returns how
-- many; NULL, and does nothing, while ten thousand deliveries are open. Raises PL007 where one of those is pruned.
CREATE FUNCTION pinledger.replay_deliveries(
    p_webhook text, p_from bigint, p_until bigint, p_all boolean, p_types text[], p_streams text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
DECLARE
    until bigint;
    count bigint := 0;
    added bigint := 0;
BEGIN
    -- The lock keeps the feed from being moved or closed in the meantime.
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
    -- A message carries the whole entry.
    IF p_all AND EXISTS (
        SELECT FROM event e WHERE e.position >= p_from AND e.position < until AND e.entry = ''
           AND (cardinality(p_types) = 0 OR e.type = ANY (p_types))
           AND (cardinality(p_streams) = 0 OR e.stream = ANY (p_streams))
    ) THEN
        RAISE EXCEPTION 'entries of events at [%, %) are pruned', p_from, until USING ERRCODE = 'PL007';
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
GRANT EXECUTE ON FUNCTION pinledger.replay_deliveries TO pinledger_app;

-- Deletes deliveries settled before p_before, at most ten thousand a call, and never those of the last day. Returns how
-- many it deleted.
CREATE FUNCTION pinledger.forget_deliveries(p_before timestamptz DEFAULT now() - interval '30 days') RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    WITH old AS (
        SELECT d.webhook, d.position FROM webhook_delivery d
         WHERE d.settled_at < least(p_before, now() - interval '1 day') LIMIT 10000
    ), gone AS (
        DELETE FROM webhook_delivery d USING old o
         WHERE d.webhook = o.webhook AND d.position = o.position AND d.state IN ('delivered', 'dead') RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_deliveries TO pinledger_app;
