-- Sealed secrets: an auditor sees which there are, and the application seals them once more where they are as it read them.
SET LOCAL ROLE pinledger_app;
SELECT pinledger.store_signing_secret('k', 'kek', 'n', 'c'), pinledger.store_client_secret('k:a', 'a', 'kek', 'n', 'c'),
       pinledger.store_telemetry_secret('t', 'a', 'kek', 'n', 'c'), pinledger.store_webhook_secret('s', 'w', 'kek', 'n', 'c');
SELECT pinledger.lock_secrets();
SELECT test.same(
    string_agg(pinledger.rewrap_secrets(kind, ARRAY[id], '{n}', 'kek2', '{n2}', '{c2}')::text, ' '), '1 1 1 1', 'rewrapped')
  FROM (VALUES ('signing', 'k'), ('client', 'k:a'), ('telemetry', 't'), ('webhook', 's')) v (kind, id);
SELECT test.same(pinledger.rewrap_secrets('signing', '{k}', '{n}', 'kek3', '{n3}', '{c3}'), 0::bigint, 'read before a change');
SELECT test.refused($$SELECT pinledger.rewrap_secrets('other', '{k}', '{n}', 'kek3', '{n3}', '{c3}')$$, '20000');
SELECT test.same(encode(ciphertext, 'escape'), 'c2', 'what is sealed now') FROM pinledger.signing_secret;
SELECT pinledger.store_snapshot(1, 5, '', '', sha256('beyond'));
SELECT test.same(count(*), 0::bigint, 'a snapshot beyond the ledger''s end') FROM pinledger.snapshot;
RESET ROLE;
SELECT test.append('app/a', 0, 5);
SET LOCAL ROLE pinledger_app;
SELECT pinledger.store_snapshot(1, 5, '', '', sha256('old'));
SELECT test.same(pinledger.retag_snapshot(1, 5, sha256('other'), sha256('new')), false, 'another tag stays');
SELECT test.same(pinledger.retag_snapshot(1, 5, sha256('old'), sha256('new')), true, 'a tag is changed');
SET LOCAL ROLE pinledger_reader;
SELECT test.same(string_agg(concat_ws(' ', kind, id, owner, kek_id), ', ' ORDER BY kind),
    'client k:a a kek2, signing k  kek2, telemetry t a kek2, webhook s w kek2', 'names')
  FROM pinledger.sealed_secrets();
SELECT test.refused($$SELECT pinledger.lock_secrets()$$, '42501');
SELECT test.refused($$SELECT pinledger.rewrap_secrets('signing', '{k}', '{n2}', 'kek3', '{n3}', '{c3}')$$, '42501');
SELECT test.refused($$SELECT pinledger.retag_snapshot(1, 5, '', '')$$, '42501');
SELECT test.refused($$SELECT pinledger.forget_snapshots(1)$$, '42501');
