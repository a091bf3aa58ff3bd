SET LOCAL ROLE pinledger_owner;

-- What nodes that remember nothing ask those that remember the ledger: to vouch for its end. A node believes an answer by its signature,
-- over a challenge that it has drawn itself: one that was restored with a backup is of another challenge.

CREATE TABLE pinledger.vouch_request (
    challenge bytea       PRIMARY KEY CHECK (octet_length(challenge) = 32),
    asked_at  timestamptz NOT NULL,
    -- The end and its signature; NULL while no node has answered.
    answer    bytea       CHECK (octet_length(answer) BETWEEN 1 AND 1000)
);
GRANT SELECT ON pinledger.vouch_request TO pinledger_app;

-- Keeps a request. The newest 100 are kept.
CREATE FUNCTION pinledger.ask_to_vouch(p_challenge bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM vouch_request
     WHERE asked_at NOT BETWEEN now() - interval '10 minutes' AND now() + interval '10 minutes'
        OR challenge IN (SELECT challenge FROM vouch_request ORDER BY asked_at DESC, challenge OFFSET 99);
    INSERT INTO vouch_request (challenge, asked_at) VALUES (p_challenge, clock_timestamp()) ON CONFLICT DO NOTHING
    RETURNING true
$$;
GRANT EXECUTE ON FUNCTION pinledger.ask_to_vouch TO pinledger_app, pinledger_reader;

-- The answer to a request; NULL where there is none. Who asks names the challenge: others' requests cannot be listed.
CREATE FUNCTION pinledger.vouched(p_challenge bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    SELECT answer FROM vouch_request WHERE challenge = p_challenge
$$;
GRANT EXECUTE ON FUNCTION pinledger.vouched TO pinledger_app, pinledger_reader;

-- True where a request is still there.
CREATE FUNCTION pinledger.is_asked(p_challenge bytea) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    SELECT EXISTS (SELECT FROM vouch_request WHERE challenge = p_challenge)
$$;
GRANT EXECUTE ON FUNCTION pinledger.is_asked TO pinledger_app, pinledger_reader;

-- Keeps the first answer to a request that is there.
CREATE FUNCTION pinledger.answer_vouch(p_challenge bytea, p_answer bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    UPDATE vouch_request SET answer = p_answer WHERE challenge = p_challenge AND answer IS NULL
$$;
GRANT EXECUTE ON FUNCTION pinledger.answer_vouch TO pinledger_app;

-- Removes a request whose node needs no answer any more.
CREATE FUNCTION pinledger.withdraw_vouch(p_challenge bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    DELETE FROM vouch_request WHERE challenge = p_challenge
$$;
GRANT EXECUTE ON FUNCTION pinledger.withdraw_vouch TO pinledger_app, pinledger_reader;
