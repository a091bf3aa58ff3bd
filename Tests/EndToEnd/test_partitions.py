"""A partition of the ledger that is moved to another disk: nothing waits for it but reads of its own events."""

import shutil
from pathlib import Path

import pytest
from nodes import start_node
from pinledger import eventually, from_now, host_body
from problems import expect_problem

APP = "com.example.partitions"
#: It is there ahead of time. To every statement it is a partition like the first, whether or not it has events.
OTHER = "pinledger.event_00000010000000"


@pytest.fixture(scope="module")
def logging_server(own_server):
    own_server.api.make_app(APP, "api.example.com")
    own_server.api.must("POST", "/v1/log", {"origin": "pins.example.com/log"})
    return own_server


def test_changes_documents_and_proofs_do_not_wait_for_a_partition_that_is_locked(logging_server):
    api = logging_server.api
    node, reading = start_node(logging_server, "beside", "--read-only")
    try:
        eventually(lambda: reading.document(APP).status == 200)
        with logging_server.locked(OTHER, "ACCESS EXCLUSIVE"):
            # More than the times after which PostgreSQL may plan a prepared statement for all partitions.
            for number in range(12):
                api.must("POST", f"/v1/apps/{APP}/hosts", host_body(f"h{number}.example.com"))
            api.must("PUT", f"/v1/apps/{APP}/kill-switch", {"reason": "leaked key", "expires_at": from_now(days=1)})
            eventually(lambda: reading.document(APP).body == api.document(APP).body, "the other node serves the change")
            position = api.position()
            for path in [
                "/log/checkpoint", f"/log/tile/0/000.p/{position}", f"/log/tile/entries/000.p/{position}",
                f"/v1/apps/{APP}/document/content?position={position - 2}", f"/log/proofs/inclusion?position={position - 1}&size={position}",
            ]:  # fmt: skip
                assert api.get(path).status == 200, path
            late, starting = start_node(logging_server, "late", "--read-only")
            try:
                assert starting.document(APP).body == api.document(APP).body
            finally:
                late.stop()
            # A search for all events of an app has to look into every partition.
            history = api.get(f"/v1/apps/{APP}/history")
            expect_problem(history, 503, "overloaded")
            assert history["Retry-After"]
        assert api.get(f"/v1/apps/{APP}/history").status == 200
    finally:
        node.stop()


def test_a_partition_with_all_its_events_is_moved_to_another_disk(logging_server):
    api, first = logging_server.api, "pinledger.event_00000000000000"
    owner = (logging_server.data / "postgresql").owner()
    disk = logging_server.home / "cheap"
    disk.mkdir(mode=0o700)
    shutil.chown(disk, owner)
    before = api.get(f"/v1/apps/{APP}/history").json
    logging_server.sql(f"CREATE TABLESPACE cheap LOCATION '{disk}'")
    logging_server.sql(f"ALTER TABLE {first} SET TABLESPACE cheap")
    indexes = logging_server.sql(f"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '{first}'::regclass").split()
    for index in indexes:
        logging_server.sql(f"ALTER INDEX {index} SET TABLESPACE cheap")
    assert len(indexes) == 5 and len(list(Path(disk).rglob("[0-9]*"))) > len(indexes)
    assert api.get(f"/v1/apps/{APP}/history").json == before
    api.must("POST", f"/v1/apps/{APP}/hosts", host_body("after.example.com"))
    eventually(lambda: "after.example.com" in str(api.payload(APP)))
    logging_server.cli("fsck", "--database", logging_server.connection_string)
    # Still nothing that is recorded can be changed.
    events = int(logging_server.sql(f"SELECT count(*) FROM {first}"))
    left = logging_server.sql(f"""
        DO $$ BEGIN DELETE FROM {first}; RAISE 'deleted'; EXCEPTION WHEN SQLSTATE '23001' THEN RAISE NOTICE 'refused'; END $$;
        SELECT count(*) FROM {first}""")
    assert int(left.split()[-1]) >= events > 0
