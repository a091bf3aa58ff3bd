"""Requests of cert-manager that wait for the rotation to their key, while curl connects with the pins of documents."""

import base64

import pytest
from certmanager import Cluster, signing_request
from names import unique
from pinledger import eventually
from renewals import GOALS, HOST, World
from tls_server import Key


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def world(brief_server, tmp_path):
    made = World(brief_server, tmp_path, unique("cluster"), "editor")
    yield made
    made.close()


def look(world: World, cluster: Cluster, *more: str, status: int = 0, hosts: tuple[str, ...] = (HOST,)) -> str:
    """Runs the approver once."""
    token = world.home / "account"
    token.write_text(cluster.token)
    return world.hook(
        "hook", "cert-manager", world.app, *hosts, *GOALS, "--kubernetes", cluster.url, "--kubernetes-token-file", str(token),
        "--kubernetes-ca-file", str(world.old.certificate), "--server", world.url, "--token-file", str(world.token), *more,
        status=status,
    )  # fmt: skip


def rotations(world: World) -> dict[str, str]:
    answer = world.node.api.get(f"/v1/apps/{world.app}/rotations").json["rotations"]
    return {each["next"]: each["phase"] for each in answer}


def test_a_request_is_approved_when_clients_have_its_key_and_its_rotation_ends(world, cluster):
    new = Key(world.home, "new", HOST)
    cluster.request("api-1", new.request.read_bytes())
    first = look(world, cluster)
    assert "publishes the next key" in first and not cluster.issued
    assert rotations(world) == {new.pin: "deliver"}

    def approved() -> bool:
        look(world, cluster)
        return cluster.issued == ["api-1"]

    eventually(approved, "the request is approved")
    condition = cluster.conditions("api-1")["Approved"]
    assert condition["reason"] == "pinledger" and "rotation renewal-" in condition["message"]
    # cert-manager stores the certificate, and the servers load it.
    world.server.serve(new)

    def done() -> bool:
        look(world, cluster)
        return rotations(world) == {new.pin: "done"}

    eventually(done, "the rotation is done")
    assert cluster.issued == ["api-1"]
    host = world.node.api.get(f"/v1/apps/{world.app}/hosts/{HOST}").json
    active = {each["pin"]: each["role"] for each in host["baseline"]["pins"] if each["state"] == "active"}
    assert active[new.pin] == "primary" and world.old.pin not in active
    # The next request with the same key needs no rotation.
    cluster.request("api-2", new.request.read_bytes())
    assert "api-2: approved" in look(world, cluster)


def test_requests_of_others_are_left_to_others_unless_told_so(world, cluster):
    cluster.request("web-1", signing_request(world.home, "web", "web.example.org"))
    assert look(world, cluster) == "" and not cluster.issued
    assert "web-1: approved" in look(world, cluster, "--approve-others")
    assert not rotations(world)


@pytest.mark.parametrize("condition", ["Denied", "InvalidRequest"])
def test_a_request_that_was_decided_begins_no_rotation(world, cluster, condition):
    csr = signing_request(world.home, "new", HOST)
    cluster.request("api-1", csr, conditions=[{"type": condition, "status": "True"}])
    cluster.request("api-2", csr, conditions=[{"type": "Ready", "status": "False", "reason": "Failed"}])
    assert look(world, cluster) == "" and not rotations(world) and not cluster.issued


def test_requests_of_other_namespaces_and_further_pages_are_told_apart(world, cluster):
    for number in range(4):
        cluster.request(f"web-{number}", signing_request(world.home, f"web{number}", "web.example.org"))
    cluster.request("web-9", signing_request(world.home, "web9", "web.example.org"), "other")
    look(world, cluster, "--approve-others", "--namespace", "shop")
    assert cluster.issued == ["web-0", "web-1", "web-2", "web-3"]
    look(world, cluster, "--approve-others")
    assert "web-9" in cluster.issued


def test_a_request_that_changes_meanwhile_is_looked_at_again(world, cluster):
    cluster.request("web-1", signing_request(world.home, "web", "web.example.org"))
    cluster.changes_before_put = True
    assert look(world, cluster, "--approve-others") == "" and not cluster.issued
    look(world, cluster, "--approve-others")
    assert cluster.issued == ["web-1"]


@pytest.mark.parametrize("request_text", [b"not a request", b"", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"])
def test_one_malformed_request_does_not_hold_up_the_others(world, cluster, request_text):
    cluster.request("a-broken", request_text)
    cluster.request("b-whole", signing_request(world.home, "web", "web.example.org"))
    said = look(world, cluster, "--approve-others", status=1)
    assert "shop/a-broken" in said and cluster.issued == ["b-whole"]


def test_a_request_whose_sender_does_not_have_the_key_is_not_approved(world, cluster):
    csr = signing_request(world.home, "new", HOST)
    der = bytearray(base64.b64decode(b"".join(csr.split(b"\n")[1:-2])))
    der[-3] ^= 1
    text = base64.encodebytes(bytes(der)).decode()
    forged = f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n"
    cluster.request("api-1", forged.encode())
    assert "api-1" in look(world, cluster, status=1)
    assert not rotations(world) and not cluster.issued


def test_a_cluster_that_refuses_says_what_is_missing(world, cluster):
    cluster.request("web-1", signing_request(world.home, "web", "web.example.org"))
    cluster.refuses_approvals = True
    said = look(world, cluster, "--approve-others", status=8)
    assert "not allowed to set approval conditions" in said and "pinledger handbook" in said
    token, cluster.token = cluster.token, "another"
    (world.home / "account").write_text(token)
    said = world.hook(
        "hook", "cert-manager", world.app, HOST, "--kubernetes", cluster.url, "--kubernetes-token-file", str(world.home / "account"),
        "--server", world.url, "--token-file", str(world.token), status=8)  # fmt: skip
    assert "Unauthorized" in said


def test_a_rotation_that_people_aborted_is_not_begun_again(world, cluster):
    new = Key(world.home, "new", HOST)
    cluster.request("api-1", new.request.read_bytes())
    look(world, cluster)
    [rotation] = world.node.api.get(f"/v1/apps/{world.app}/rotations").json["rotations"]
    world.node.api.must("POST", f"/v1/apps/{world.app}/rotations/{rotation['rotation']}/abort", {"reason": "by hand"})
    assert "was aborted" in look(world, cluster) and not cluster.issued


def test_a_pod_without_a_cluster_says_what_to_give(world):
    said = world.hook("hook", "cert-manager", world.app, HOST, "--server", world.url, status=2)
    assert "--kubernetes" in said
