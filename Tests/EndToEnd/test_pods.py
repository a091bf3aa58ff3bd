"""The manifests, played with real processes: each pod in a network of its own, with only the connections that the policies allow."""

import os
import re
import shutil

import handbook
import pytest
from manifests import container
from pinledger import eventually
from pods import furnished

pytestmark = [
    pytest.mark.daily,
    pytest.mark.skipif(os.getuid() != 0 or not shutil.which("ip"), reason="networks of their own take root and iproute2"),
]
NODES = ["pinledger-0", "pinledger-1", "pinledger-reader-0", "pinledger-reader-1"]


@pytest.fixture
def cluster(own_server, tmp_path_factory):
    one = furnished(own_server, tmp_path_factory.mktemp("cluster"))
    try:
        yield one
    finally:
        one.close()


def test_the_pods_come_from_nothing_to_a_document_with_the_connections_of_the_policies(cluster, own_server):
    cluster.add("pinledger-migrate").run(*container("pinledger-migrate")["args"])
    own_server.sql("GRANT pinledger_reader TO pinledger_node")
    for name in NODES:
        workload, _, number = name.rpartition("-")
        cluster.add(workload, int(number))
    cluster.start(*NODES)
    cluster.await_ready(*NODES)

    authority = cluster.objects["pinledger-tls"]["ca.crt"]
    operator, monitoring = cluster.stranger("operator", operators="true"), cluster.stranger("prometheus", monitoring="true")
    stranger = cluster.stranger("client")
    for one in (operator, stranger):
        (one.root / "tmp/ca.crt").write_text(authority)
    [bootstrap] = re.findall(r"-- pinledger (token bootstrap .*) --code$", handbook.text("containers"), re.M)
    token = cluster.pods["pinledger-0"].run(*bootstrap.split()).split()[-1]
    asking = {"PINLEDGER_CA_FILE": "/tmp/ca.crt", "PINLEDGER_TOKEN": token, "PINLEDGER_SERVER": "https://pinledger-operators:8441"}
    eventually(lambda: operator.does("whoami", **asking), "a server that knows the token")
    operator.run("app", "create", "com.example.app", **asking)
    documents = ["--server", "https://pinledger-documents:8440", "--ca-file", "/tmp/ca.crt"]
    jwks = stranger.run("api", "GET", "/client/v1/jwks.json", *documents)
    (stranger.root / "tmp/keys.json").write_text(jwks)

    def verify(service: str) -> str:
        words = [
            "document",
            "verify",
            "com.example.app",
            "--no-state",
            "--jwks",
            "/tmp/keys.json",
            "--server",
            f"https://{service}",
        ]
        return stranger.run(*words, PINLEDGER_CA_FILE="/tmp/ca.crt")

    verify("pinledger-documents:8440")
    # Edges, with what only exists now.
    edge_token = operator.run("token", "create", "edges", "--role", "viewer", "--app", "*", **asking)
    cluster.objects |= {"pinledger-upstream": {"token": edge_token}, "pinledger-trusted-keys": {"keys.json": jwks}}
    cluster.add("pinledger-edge", 0)
    cluster.start("pinledger-edge-0")
    cluster.await_ready("pinledger-edge-0")
    verify("pinledger-edge:8450")

    # A connection that no policy allows ends before a byte.
    edge = cluster.pods["pinledger-edge-0"]
    assert [one.reaches("pinledger-operators", 8441) for one in (operator, monitoring, stranger, edge)] == [
        True,
        False,
        False,
        False,
    ]
    assert [one.reaches("pinledger", 8440) for one in (operator, stranger, edge)] == [True, True, True]
    assert [cluster.pods[name].reaches_database() for name in (*NODES, "pinledger-edge-0")] == [True] * 4 + [False]
    for name in [*NODES, "pinledger-edge-0"]:
        assert cluster.pods[name].answer("127.0.0.1", cluster.pods[name].place.ports["metrics"], "/metrics") == 200

    # All start again while the database is away: the service of documents stays up, by the read-only nodes.
    cluster.has_database = False
    cluster.stop(*NODES)
    cluster.start(*NODES)
    cluster.await_ready("pinledger-reader-0", "pinledger-reader-1")
    verify("pinledger-documents:8440")
    assert not cluster.pods["pinledger-0"].asks("readinessProbe") and not operator.reaches("pinledger-operators", 8441)
    verify("pinledger-edge:8450")
    cluster.has_database = True
    cluster.await_ready("pinledger-0", "pinledger-1")
    operator.run("app", "create", "com.example.other", **asking)
