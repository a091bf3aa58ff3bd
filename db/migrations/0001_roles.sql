-- Three roles, none of which can log in; operators grant them to the accounts that do.
--   pinledger_owner   owns everything, runs migrations
--   pinledger_app     what `pinledger serve` needs: reads, and writes only through functions
--   pinledger_reader  what `pinledger serve --read-only` needs: reads, and never a private key, sealed or not
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['pinledger_owner', 'pinledger_app', 'pinledger_reader'] LOOP
        -- Roles belong to the whole cluster: another database of it may have made them, even at this moment.
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
    -- Since PostgreSQL 16 who makes a role is its member, and may all the same not SET ROLE to it.
    IF NOT pg_has_role(current_user, 'pinledger_owner',
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT pinledger_owner TO %I', current_user);
    END IF;
END
$$;

ALTER SCHEMA pinledger OWNER TO pinledger_owner;
ALTER TABLE pinledger.migration OWNER TO pinledger_owner;
GRANT USAGE ON SCHEMA pinledger TO pinledger_app, pinledger_reader;
GRANT SELECT ON pinledger.migration TO pinledger_app, pinledger_reader;
