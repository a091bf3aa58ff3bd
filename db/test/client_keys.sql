-- The private halves of the keys of deployed clients' formats: stored, sealed again, erased, and readable by no reader.
SET LOCAL ROLE pinledger_app;
SELECT pinledger.store_client_secret('k1:a', 'a', 'kek', 'n', 'c'), pinledger.store_client_secret('k2:a', 'a', 'kek', 'n', 'c');
SELECT pinledger.store_client_secret('k2:a', 'a', 'kek2', 'n2', 'c2');
SELECT test.same(format('%s %s', count(*), max(kek_id)), '1 kek2', 'a secret that is stored again is sealed again')
  FROM pinledger.client_secret WHERE secret = 'k2:a';
SELECT pinledger.erase_client_secret('k1:a');
SELECT test.same(pinledger.erase_client_secrets_except('{}'), 0::bigint, 'a young secret stays');
SELECT test.same(string_agg(secret, ','), 'k2:a', 'secrets') FROM pinledger.client_secret;
SELECT test.refused($$DELETE FROM pinledger.client_secret$$, '42501');
SELECT test.refused($$INSERT INTO pinledger.client_secret SELECT * FROM pinledger.client_secret$$, '42501');
SET LOCAL ROLE pinledger_reader;
SELECT test.refused($$SELECT ciphertext FROM pinledger.client_secret$$, '42501');
