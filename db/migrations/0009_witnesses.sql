SET LOCAL ROLE pinledger_owner;

-- What witnesses of the transparency log have cosigned. Not part of the ledger: nodes verify it before they show it, and ask
-- the witnesses again where it is missing.

-- The newest checkpoint of the log that witnesses have cosigned: the signed note, as nodes show it.
CREATE TABLE pinledger.cosigned_checkpoint (
    is_only     boolean     PRIMARY KEY DEFAULT true CHECK (is_only),
    origin      text        COLLATE "C" NOT NULL,
    -- The number of events.
    size        bigint      NOT NULL CHECK (size > 0),
    note        bytea       NOT NULL CHECK (octet_length(note) <= 65536),
    cosigned_at timestamptz NOT NULL
);
GRANT SELECT ON pinledger.cosigned_checkpoint TO pinledger_app, pinledger_reader;

-- Keeps a cosigned checkpoint, unless there is one of more events. No checkpoint is kept of events that are not there.
CREATE FUNCTION pinledger.keep_cosigned_checkpoint(p_origin text, p_size bigint, p_note bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO cosigned_checkpoint AS c (origin, size, note, cosigned_at)
    SELECT p_origin, p_size, p_note, clock_timestamp()
     WHERE p_size <= (SELECT next_position FROM head ORDER BY position_block DESC LIMIT 1)
        ON CONFLICT (is_only) DO UPDATE
       SET origin = excluded.origin, size = excluded.size, note = excluded.note, cosigned_at = excluded.cosigned_at
     WHERE c.origin <> excluded.origin OR c.size <= excluded.size
$$;
GRANT EXECUTE ON FUNCTION pinledger.keep_cosigned_checkpoint TO pinledger_app;

-- What has become of the last request to each witness, by its key.
CREATE TABLE pinledger.witness (
    vkey        text        COLLATE "C" PRIMARY KEY CHECK (octet_length(vkey) <= 400),
    asked_at    timestamptz NOT NULL,
    -- The last checkpoint that it has cosigned, and when; NULL for none.
    size        bigint      CHECK (size > 0),
    cosigned_at timestamptz,
    -- Why it has not cosigned the last one that it was asked for; NULL where it has.
    failure     text        COLLATE "C" CHECK (octet_length(failure) <= 2000)
);
GRANT SELECT ON pinledger.witness TO pinledger_app, pinledger_reader;

-- Keeps what a witness has answered. A size is NULL where there is a failure, and then what was cosigned before stays.
CREATE FUNCTION pinledger.keep_witness_answer(p_vkey text, p_size bigint, p_failure text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pinledger, pg_temp AS $$
    INSERT INTO witness AS w (vkey, asked_at, size, cosigned_at, failure)
    SELECT p_vkey, clock_timestamp(), p_size, CASE WHEN p_size IS NOT NULL THEN clock_timestamp() END, p_failure
        ON CONFLICT (vkey) DO UPDATE
       SET asked_at = excluded.asked_at, failure = excluded.failure,
           size = coalesce(excluded.size, w.size), cosigned_at = coalesce(excluded.cosigned_at, w.cosigned_at)
$$;
GRANT EXECUTE ON FUNCTION pinledger.keep_witness_answer TO pinledger_app;
