-- A partition loses its entries, and gets them back.
ALTER TABLE pinledger.event DETACH PARTITION pinledger.event_00000000000000;
DROP TABLE pinledger.event_00000000000000;
SET LOCAL ROLE pinledger_owner;
SELECT pinledger.add_partition(0, 6), pinledger.add_partition(6, 10000000);
RESET ROLE;
SELECT test.append('app/a', 0, 2);
SELECT test.append('fleet', 0, 1);
SELECT test.append('watch/a', 0, 2);
CREATE FUNCTION test.unlike(kept text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    differing bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM pinledger.event e FULL JOIN test.before b ON b.position = e.position '
        'WHERE row(e.*) IS DISTINCT FROM row(b.*) AND NOT (%s)', kept) INTO differing;
    RETURN differing;
END
$$;

INSERT INTO pinledger.snapshot (fold_version, position, frontier, digests, tag, kept_tag)
VALUES (1, 6, '', '', sha256(''), sha256(''));

-- Only a full one.
SET LOCAL ROLE pinledger_owner;
SELECT test.refused('SELECT pinledger.copy_partition(0, true)', '55000');
SELECT test.refused('SELECT pinledger.copy_partition(6, true)', '55000');
RESET ROLE;
SELECT test.append('app/b', 0, 300);
CREATE TABLE test.before AS TABLE pinledger.event;
GRANT SELECT ON test.before TO PUBLIC;

SET LOCAL ROLE pinledger_owner;
SELECT pinledger.copy_partition(0, true);
SELECT test.same(test.unlike('false'), 0::bigint, 'a copy beside it changes nothing');
SELECT test.same(count(*), 1::bigint, 'what is about to be pruned is known') FROM pinledger.pruned_partition WHERE pruned_at IS NULL;
-- What needs the entries is looked for again at the end.
INSERT INTO pinledger.webhook_feed VALUES ('v', 1, 5);
SELECT test.refused('SELECT pinledger.replace_partition(0, true, 1)', 'PL008');
INSERT INTO pinledger.command VALUES ('token:a', 'key', sha256(''), 5, 1, now());
SELECT test.same(array_agg(kind || ' ' || detail ORDER BY kind), '{commands 1,webhook v}', 'obstacles')
  FROM pinledger.pruning_obstacles(6);
DELETE FROM pinledger.command;
DELETE FROM pinledger.webhook_feed;
SELECT test.refused('SELECT pinledger.replace_partition(0, true, 2)', 'PL008');
SELECT pinledger.drop_partition_copy(0);
SELECT test.same(count(*), 0::bigint, 'a copy that is given up') FROM pinledger.pruned_partition;
SELECT pinledger.copy_partition(0, true);
SELECT pinledger.replace_partition(0, true, 1);
SELECT test.same(array_agg(position ORDER BY position), '{0,1,3,4,5}', 'pruned') FROM pinledger.event WHERE entry = '';
SELECT test.same(test.unlike('e.entry = '''' AND row(e.position, e.stream_version, e.recorded_at, e.stream, e.type, '
    'e.actor_kind, e.actor_id, e.leaf_hash, e.mac, e.signature) IS NOT DISTINCT FROM row(b.position, b.stream_version, '
    'b.recorded_at, b.stream, b.type, b.actor_kind, b.actor_id, b.leaf_hash, b.mac, b.signature)'), 0::bigint, 'others');
SELECT test.same(array_agg(first_position || '-' || end_position), '{0-6}', 'known') FROM pinledger.pruned_partition
 WHERE pruned_at IS NOT NULL;

-- What is pruned cannot be sent again.
RESET ROLE;
INSERT INTO pinledger.webhook_feed VALUES ('w', 1, 8);
SELECT test.refused('SELECT pinledger.replay_deliveries(''w'', 0, 8, true, ''{}'', ''{}'')', 'PL007');
SELECT test.same(pinledger.replay_deliveries('w', 0, 8, true, '{}', '{fleet}'), 1::bigint, 'an entry that is kept');
SELECT test.same(pinledger.replay_deliveries('w', 6, 8, true, '{}', '{}'), 2::bigint, 'entries behind them');

-- It takes back what it has lost, and nothing else.
SET LOCAL ROLE pinledger_owner;
SELECT pinledger.prepare_restore(0);
INSERT INTO pinledger.restored_entry SELECT position, 'entry' FROM generate_series(0, 4) position;
SELECT test.refused('SELECT pinledger.copy_partition(0, false)', '23502');
INSERT INTO pinledger.restored_entry VALUES (5, 'forged');
SELECT test.refused('SELECT pinledger.copy_partition(0, false)', 'XX001');
UPDATE pinledger.restored_entry SET entry = 'entry';
SELECT pinledger.copy_partition(0, false), pinledger.replace_partition(0, false, 1);
SELECT test.same(test.unlike('false'), 0::bigint, 'restored');
SELECT test.same(count(*), 0::bigint, 'none is pruned') FROM pinledger.pruned_partition;
SELECT test.refused('TRUNCATE pinledger.event_00000000000000', '23001');
SELECT test.refused('DELETE FROM pinledger.event', '23001');
DROP TABLE pinledger.restored_entry;

-- The record of an app's newest document stays.
RESET ROLE;
DELETE FROM pinledger.webhook_delivery;
ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
UPDATE pinledger.event SET type = 'DocumentPublished' WHERE stream = 'watch/a';
ALTER TABLE pinledger.event ENABLE ALWAYS TRIGGER refuse_change;
SET LOCAL ROLE pinledger_owner;
SELECT pinledger.copy_partition(0, true), pinledger.replace_partition(0, true, 1);
SELECT test.same(array_agg(position ORDER BY position), '{0,1,3,5}', 'pruned') FROM pinledger.event WHERE entry = '';
