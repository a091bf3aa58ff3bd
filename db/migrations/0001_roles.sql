-- Three roles. None can log in: operators grant them to the accounts that do.
--   pinledger_owner   owns every object and runs the migrations
--   pinledger_app     what `pinledger serve` needs: reads tables, and writes only through functions
--   pinledger_reader  what `pinledger serve --read-only` needs: reads, but never a private key, not even a sealed one
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['pinledger_owner', 'pinledger_app', 'pinledger_reader'] LOOP
        -- Roles belong to the whole cluster: another of its databases may have made them, perhaps at this moment.
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
    -- Since PostgreSQL 16 the creator of a role is its member, and still may not SET ROLE to it.
    IF NOT pg_has_role(current_user, 'pinledger_owner',
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT pinledger_owner TO %I', current_user);
    END IF;
END
$$;

-- The migrator makes the schema and this table before it runs the first migration.
ALTER SCHEMA pinledger OWNER TO pinledger_owner;
ALTER TABLE pinledger.migration OWNER TO pinledger_owner;
GRANT USAGE ON SCHEMA pinledger TO pinledger_app, pinledger_reader;
GRANT SELECT ON pinledger.migration TO pinledger_app, pinledger_reader;

-- Only the owner may call a new function until it is granted. By PostgreSQL's default every role may.
SET LOCAL ROLE pinledger_owner;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
