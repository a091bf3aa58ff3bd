"""Memory of a server with ten thousand apps of five hosts with three pins, made through the API."""

import http.client
import json
import time

from pinledger import host_body, in_threads, pin_of

from support.bench import Bench
from support.processes import megabytes, peak_kilobytes, resident_kilobytes
from support.report import Result
from support.servers import Node

HOSTS, GOAL_MB, AIM_MB = 5, 400, 200
CLIENTS = 16


def run(bench: Bench) -> Result:
    result = Result("memory")
    apps = bench.pick(10_000, 300)
    name, ledger = bench.cluster.ledger()
    with Node(ledger) as node:
        began = time.monotonic()
        in_threads(CLIENTS, lambda client: make_apps(node, range(client, apps, CLIENTS)))
        making = time.monotonic() - began
        result.raw["resident_after_making_kib"] = resident_kilobytes(node.pid)
        deadline = time.monotonic() + 120
        while int(bench.cluster.sql(name, "SELECT count(*) FROM pinledger.document")) < apps:
            assert time.monotonic() < deadline, "not all documents were signed"
            time.sleep(0.5)
        position = node.api.position()
    # A server that starts on this ledger, as one that was updated does.
    with Node(ledger) as node:
        result.raw |= {
            "apps": apps, "hosts": HOSTS, "pins": 3, "events": position, "making_seconds": making,
            "resident_at_start_kib": resident_kilobytes(node.pid), "start_seconds": time.monotonic() - node.began,
        }  # fmt: skip
        assert len(node.api.get(f"/v1/apps/com.example.a{apps - 1}/hosts").json["hosts"]) == HOSTS
        assert node.api.document(f"com.example.a{apps - 1}").status == 200
        time.sleep(bench.pick(60, 2))
        result.raw |= {"resident_later_kib": resident_kilobytes(node.pid), "peak_kib": peak_kilobytes(node.pid)}
    later = max(result.raw["resident_later_kib"], result.raw["resident_at_start_kib"])
    for key, what in [
        ("resident_at_start_kib", "resident when ready"), ("resident_later_kib", "resident a minute later"),
        ("peak_kib", "at the most (VmHWM)"), ("resident_after_making_kib", "in the server that recorded it all"),
    ]:  # fmt: skip
        result.figures.append(f"{what}: {megabytes(result.raw[key]):.0f} MB")
    result.figures.append(
        f"{apps:,} apps of {HOSTS} hosts with 3 pins: {position:,} events, by {CLIENTS} clients in {making:.0f} s "
        f"(ready {result.raw['start_seconds']:.2f} s after the start)"
    )
    result.goal(
        f"{apps:,} apps of 5 hosts with 3 pins at most {GOAL_MB} MB resident (aim {AIM_MB})",
        f"{megabytes(later):.0f} MB", megabytes(later) <= GOAL_MB,
    )  # fmt: skip
    return result


def make_apps(node: Node, numbers: range) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    headers = {"Authorization": f"Bearer {node.api.token}", "Content-Type": "application/json"}

    def post(target: str, body: dict) -> None:
        connection.request("POST", target, json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 201, content

    for number in numbers:
        app = f"com.example.a{number}"
        post("/v1/apps", {"app": app})
        for host in range(HOSTS):
            name = f"api{host}.app{number}.example.com"
            body = host_body(name)
            body["baseline"]["pins"].append({"pin": pin_of(f"{name} third"), "role": "backup"})
            post(f"/v1/apps/{app}/hosts", body)
    connection.close()
