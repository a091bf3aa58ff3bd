"""Faults of edges, of the way to their upstream, and of clients behind them."""

import json
from concurrent.futures import ThreadPoolExecutor

from database_faults import Load
from fault import Fault
from lab import APP, Lab
from node_faults import forget_everything, remember
from pinledger import eventually, unbase64url
from runbook import Section


def revoke_token(lab: Lab) -> None:
    lab.command("token", "revoke", lab.kept["edge token"], "--reason", "a drill")


def renew_token(lab: Lab, section: Section) -> None:
    lost = lab.edge.said("upstream_lost")
    assert any("401" in str(line) for line in lost), lost
    lab.new_edge_token()


def sign_with_new_key(lab: Lab) -> None:
    made = lab.change("/v1/keys", {"reason": "a drill"}, "POST").json
    key = made["events"][0]["data"]["kid"]
    lab.change(f"/v1/keys/{key}/activate", {"force": True, "reason": "a drill"}, "POST")


def give_edges_the_key(lab: Lab, section: Section) -> None:
    eventually(lambda: any(line["cause"] == "unknown_key" for line in lab.edge.said("upstream_document_refused")), "the cause")
    lab.trust()


def distrust_key(lab: Lab) -> None:
    header = lab.clients.document(APP).body.decode().partition(".")[0]
    lab.trust(without=json.loads(unbase64url(header))["kid"])


def trust_key_again(lab: Lab, section: Section) -> None:
    lab.trust()


class Balancer:
    """Clients, and a balancer that sends them to the edges: by turns, or only to those whose `/readyz` is 200."""

    def __init__(self, lab: Lab):
        self.edges, self.looks, self._turn = [lab.edge, lab.far_edge], False, 0
        self._load = Load(lab, 4, self._fetch)

    def _fetch(self) -> None:
        edges = [edge for edge in self.edges if not self.looks or edge.api.get("/readyz").status == 200]
        self._turn += 1
        edges[self._turn % len(edges)].clients.document(APP)

    def stop(self) -> None:
        self._load.stop()


def fail_clients(lab: Lab) -> None:
    forget_everything(lab)
    lab.kept["balancer"] = Balancer(lab)


def balance(lab: Lab, section: Section) -> None:
    failing = lab.prometheus.query('sum by (instance, operation) (rate(pinledger_requests_total{caller="client",status="503"}[20s])) > 0')
    assert {"instance": lab.far_edge.instance, "operation": "getDocument"} in [each["metric"] for each in failing], failing
    lab.kept["balancer"].looks = True
    lab.prometheus.await_end("PinledgerClientErrors")
    lab.prometheus.await_end("PinledgerClientErrorBudget")
    lab.kept["balancer"].stop()
    remember(lab, section)


def keep_reports(lab: Lab) -> None:
    """The first edge is down, and clients report to the one behind it."""
    lab.edge.kill()
    body = json.dumps({"outcomes": [{"host": "api.example.com", "outcome": "success", "install": "A" * 22}]}).encode()

    def report(network: int) -> set[int]:
        # An edge keeps no more than an eighth of its room for one network.
        fields = {"X-Forwarded-For": f"198.51.{network}.7", "Content-Type": "application/json"}
        answers = set()
        with lab.far_edge.clients.connected() as connection:
            for _ in range(850):
                connection.request("POST", f"/client/v1/apps/{APP}/reports", body, fields)
                response = connection.getresponse()
                response.read()
                answers.add(response.status)
        return answers

    with ThreadPoolExecutor(6) as pool:
        answers = set().union(*pool.map(report, range(6)))
    assert answers == {202}, answers


def forward_reports(lab: Lab, section: Section) -> None:
    assert lab.far_edge.said("reports_not_forwarded")
    lab.edge.start()


STALE = frozenset({"PinledgerEdgeStale"})
FAILING = STALE | {"PinledgerNotServing", "PinledgerClientErrors", "PinledgerClientErrorBudget", "PinledgerDown"}

EDGE_FAULTS = [
    Fault("PinledgerEdgeStale", "the token of an edge is revoked", revoke_token, "put a new one into the file", renew_token, on="edge"),
    Fault(
        "PinledgerEdgeRefuses", "the servers sign with a key that the edges do not know", sign_with_new_key,
        "the server signs with a new key, which the edge has to be given in `--trusted-keys`", give_edges_the_key, on="edge",
        companions=STALE | {"PinledgerDocumentsBehind"},
    ),
    Fault(
        "PinledgerDocumentsWithheld", "the key of the documents is taken out of the edges' trusted keys", distrust_key,
        "Where it was taken out by mistake, put it back", trust_key_again, on="edge",
        companions=STALE | {"PinledgerEdgeRefuses", "PinledgerDocumentsBehind", "PinledgerNotServing"},
    ),
    Fault(
        "PinledgerClientErrors", "clients ask an edge that has no documents", fail_clients,
        "take it out of the balancer, which `/readyz` does by itself", balance, companions=FAILING,
    ),
    Fault(
        "PinledgerClientErrorBudget", "clients ask an edge that has no documents, for longer", fail_clients,
        "The same places say why", balance, companions=FAILING,
    ),
    Fault(
        "PinledgerReportsWait", "the upstream of an edge is down, and clients report", keep_reports, "Either its upstream does not answer",
        forward_reports, on="far-edge", companions=STALE | {"PinledgerDown"},
    ),
]  # fmt: skip
