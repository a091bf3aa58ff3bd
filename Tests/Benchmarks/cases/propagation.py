"""From one node's answer to a change until another node serves it, with and without the other's LISTEN connection."""

import json
import socket
import time

from pinledger import unbase64url

from support.bench import Bench
from support.report import Result
from support.rounds import percentile
from support.servers import Node

APP = "com.example.bench"
TARGET = f"/client/v1/apps/{APP}/document"
GOAL_MS = 50


def run(bench: Bench) -> Result:
    result = Result("propagation")
    name, ledger = bench.cluster.ledger()
    changes = bench.pick(200, 20)
    with (
        Node(ledger, application_name="bench-node-a") as one,
        Node(ledger, application_name="bench-node-b") as other,
    ):
        one.api.must("POST", "/v1/apps", {"app": APP})
        time.sleep(1)

        def cut() -> int:
            """Ends the other node's LISTEN connection, if it has one at this moment."""
            return int(bench.cluster.sql(
                name,
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = 'bench-node-b' AND query LIKE 'LISTEN%'",
            ))  # fmt: skip

        with Poller(other.port) as poller:
            measure(result, one, poller, changes, "LISTEN in place", lambda: 0)
            cuts = measure(result, one, poller, changes, "LISTEN cut a moment before", cut)
            assert cuts > changes / 2, f"only {cuts} of {changes} cuts found a connection to end"
    return result


def measure(result: Result, one: Node, poller: "Poller", changes: int, what: str, before) -> int:
    times, misses, cuts = [], [], 0
    for number in range(changes):
        cuts += before()
        answer = one.api.must("PATCH", f"/v1/apps/{APP}", {"display_name": f"{what} {number}"})
        answered = time.monotonic()
        wanted = answer.json["version"]
        polls = 0
        while True:
            version = poller.version()
            seen = time.monotonic()
            if version >= wanted:
                break
            polls += 1
            assert seen - answered < 30, f"after 30 s the other node still serves version {version}, not {wanted}"
        times.append((seen - answered) * 1000)
        misses.append(polls)
        # Apart, so that each change is a batch of its own, and a cut connection is one that was in place.
        time.sleep(0.15)
    figures = {
        "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "max_ms": max(times), "changes": changes,
        "served_at_first_poll": misses.count(0), "cuts": cuts, "times_ms": [round(time_, 3) for time_ in times],
    }  # fmt: skip
    result.raw[what] = figures
    result.figures.append(
        f"{what}: p50 {figures['p50_ms']:.2f} ms  p99 {figures['p99_ms']:.2f} ms  max {figures['max_ms']:.2f} ms "
        f"({changes} changes, {cuts} cuts; at the first poll already {figures['served_at_first_poll']})"
    )
    p99 = figures["p99_ms"]
    result.goal(f"served by a second node within {GOAL_MS} ms (p99), {what}", f"{p99:.2f} ms", p99 <= GOAL_MS)
    return cuts


class Poller:
    """Asks for the document over and over on one connection, and says which version it has."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = f"GET {TARGET} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        self.last = (b"", -1)

    def version(self) -> int:
        """The version of the document; -1 as long as there is none. (It counts the fleet's events too: here there are none.)"""
        self.socket.sendall(self.request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._read()
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields[b"content-length"]):
            body += self._read()
        if not head.startswith(b"HTTP/1.1 200"):
            return -1
        if body != self.last[0]:
            self.last = (body, json.loads(unbase64url(body.decode().split(".")[1]))["version"])
        return self.last[1]

    def _read(self) -> bytes:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the node closed the connection")
        return data

    def __enter__(self) -> "Poller":
        return self

    def __exit__(self, *error) -> None:
        self.socket.close()
