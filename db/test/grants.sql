-- Exactly these rights, and no others: a new table or function must be added here on purpose.
SELECT test.same(
    string_agg(format('%s %s %s', grantee, privilege_type, table_name), E'\n' ORDER BY grantee, table_name), expected,
    'tables'
) FROM (
    SELECT grantee::text, privilege_type::text, table_name::text FROM information_schema.role_table_grants
     WHERE table_schema = 'pinledger' AND grantee <> 'pinledger_owner'
) g, (
    SELECT string_agg(format('%s SELECT %s', role, name), E'\n' ORDER BY role, name) AS expected
      FROM (VALUES ('pinledger_app'), ('pinledger_reader')) r (role),
           (VALUES ('adoption_count'), ('adoption_sketch'), ('audit_deposit'), ('client_secret'), ('command'), ('cosigned_checkpoint'), ('document'), ('event'),
                   ('head'), ('material'), ('migration'), ('node'), ('observation'), ('outcome_minute'), ('probe'), ('pruned_partition'), ('renewal'), ('signing_secret'), ('snapshot'), ('snapshot_part'), ('stream'),
                   ('telemetry_secret'), ('token_use'), ('tree_node'), ('vouch_request'), ('webhook_delivery'), ('webhook_feed'), ('webhook_secret'), ('witness')) t (name)
     WHERE role = 'pinledger_app' OR name NOT IN ('audit_deposit', 'client_secret', 'signing_secret', 'telemetry_secret', 'vouch_request', 'webhook_secret')
) e GROUP BY expected;

SELECT test.same(array_agg(p.proname::text ORDER BY p.proname), ARRAY[
    'add_adoption_counts', 'answer_vouch', 'append', 'ask_to_vouch', 'authenticate_head', 'close_webhook', 'deposit_audit', 'ensure_partitions', 'erase_client_secret', 'erase_client_secrets_except', 'erase_material', 'erase_signing_secret',
    'erase_telemetry_secret', 'erase_telemetry_secrets_except', 'erase_webhook_secret', 'erase_webhook_secrets_except',
    'feed_webhook', 'forget_adoption', 'forget_commands', 'forget_deliveries', 'forget_node', 'forget_nodes',
    'forget_observations', 'forget_outcomes', 'forget_snapshots', 'forget_token_uses', 'is_asked', 'is_live', 'keep_cosigned_checkpoint', 'keep_witness_answer', 'lease_audit_deposits', 'lease_deliveries', 'lock_head', 'lock_secrets', 'merge_adoption_sketches', 'open_webhook',
    'publish_documents', 'record_outcomes', 'record_probe', 'record_renewal', 'rehearse_append', 'replay_deliveries', 'report_node', 'report_token_uses', 'retag_snapshot', 'rewrap_secrets', 'sealed_secrets', 'settle_audit_deposit', 'settle_delivery', 'store_client_secret', 'store_material', 'store_signing_secret',
    'store_snapshot', 'store_snapshot_part', 'store_telemetry_secret', 'store_webhook_secret', 'vouched', 'withdraw_vouch'], 'functions of the application')
  FROM pg_proc p WHERE p.pronamespace = 'pinledger'::regnamespace
   AND has_function_privilege('pinledger_app', p.oid, 'EXECUTE');
SELECT test.same(array_agg(p.proname::text ORDER BY p.proname), ARRAY['ask_to_vouch', 'deposit_audit', 'is_asked', 'is_live', 'report_node', 'report_token_uses', 'sealed_secrets', 'vouched', 'withdraw_vouch'], 'functions of the reader')
  FROM pg_proc p WHERE p.pronamespace = 'pinledger'::regnamespace
   AND has_function_privilege('pinledger_reader', p.oid, 'EXECUTE');

-- Nothing belongs to an account that can log in, and only the owner may create here.
SELECT test.same(count(*), 0::bigint, 'foreign owners')
  FROM pg_class c WHERE c.relnamespace = 'pinledger'::regnamespace
   AND pg_get_userbyid(c.relowner) <> 'pinledger_owner';
SELECT test.same(bool_or(rolcanlogin OR rolsuper), false, 'roles that can log in')
  FROM pg_roles WHERE rolname IN ('pinledger_owner', 'pinledger_app', 'pinledger_reader');
SELECT test.same(has_schema_privilege('pinledger_app', 'pinledger', 'CREATE'), false, 'the application creates');
SELECT test.same(has_schema_privilege('public', 'pinledger', 'USAGE'), false, 'every role sees the schema');
