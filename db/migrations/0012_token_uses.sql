SET LOCAL ROLE pinledger_owner;

-- From which networks each API token was used, and when last. Not part of the ledger: operators read here which tokens are in
-- use, and that one is used from a new place. A login of a node could have written it; no token is accepted or refused for it.

CREATE TABLE pinledger.token_use (
    token_id text        COLLATE "C" NOT NULL CHECK (token_id ~ '^(tok|cal)_[0-9A-Za-z]{16}$'),
    -- A /24 of IPv4 or a /48 of IPv6.
    network  cidr        NOT NULL CHECK (masklen(network) = CASE family(network) WHEN 4 THEN 24 ELSE 48 END),
    first_at timestamptz NOT NULL,
    -- To the minute.
    last_at  timestamptz NOT NULL,
    PRIMARY KEY (token_id, network)
) WITH (fillfactor = 50);
GRANT SELECT ON pinledger.token_use TO pinledger_app, pinledger_reader;
CREATE INDEX token_use_first_at ON pinledger.token_use (first_at);

-- Keeps that tokens were used now, each from a network: two lists of one length, at most 1000 pairs. It keeps 50 networks of a token:
-- first those from which it was used for more than a day, so that nobody hides where it is at home by using it from everywhere. Two
-- million rows in all are enough for every installation; beyond, only known ones are kept up.
CREATE FUNCTION pinledger.report_token_uses(p_tokens text[], p_networks text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
BEGIN
    IF cardinality(p_tokens) <> cardinality(p_networks) OR cardinality(p_tokens) > 1000 THEN
        RAISE 'token uses must be two lists of one length, at most 1000' USING ERRCODE = '22023';
    END IF;
    -- One node after the other: two never wait for each other's rows.
    PERFORM pg_advisory_xact_lock(hashtextextended('pinledger.token_use', 0));
    IF (SELECT reltuples FROM pg_class WHERE oid = 'pinledger.token_use'::regclass) < 2000000 THEN
        INSERT INTO token_use AS u (token_id, network, first_at, last_at)
        SELECT DISTINCT token, network::cidr, now(), date_trunc('minute', now())
          FROM unnest(p_tokens, p_networks) AS pair (token, network)
            ON CONFLICT (token_id, network) DO UPDATE SET last_at = excluded.last_at WHERE u.last_at < excluded.last_at;
    ELSE
        UPDATE token_use u SET last_at = date_trunc('minute', now())
          FROM unnest(p_tokens, p_networks) AS pair (token, network)
         WHERE u.token_id = token AND u.network = pair.network::cidr AND u.last_at < date_trunc('minute', now());
    END IF;
    DELETE FROM token_use u USING (
        SELECT token_id, network, row_number() OVER (
                   PARTITION BY token_id ORDER BY first_at < now() - interval '1 day' DESC, last_at DESC, first_at, network) AS place
          FROM token_use WHERE token_id = ANY (p_tokens)
    ) ranked
     WHERE ranked.place > 50 AND u.token_id = ranked.token_id AND u.network = ranked.network;
END
$$;
GRANT EXECUTE ON FUNCTION pinledger.report_token_uses TO pinledger_app, pinledger_reader;

-- Removes uses of more than 400 days ago: no token lives longer than 366.
CREATE FUNCTION pinledger.forget_token_uses() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM token_use WHERE last_at < now() - interval '400 days'
$$;
GRANT EXECUTE ON FUNCTION pinledger.forget_token_uses TO pinledger_app;
