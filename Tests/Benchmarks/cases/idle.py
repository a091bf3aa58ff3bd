"""What an idle keep-alive connection costs: memory of Pinledger, and of nginx, with ten thousand of them."""

import socket
import time

from support.bench import Bench
from support.processes import megabytes, resident_kilobytes
from support.report import Result
from support.rounds import median
from support.servers import Nginx, Node, make_document

APP = "com.example.bench"
TARGET = f"/client/v1/apps/{APP}/document"
GOAL_BYTES = 20_000


def run(bench: Bench) -> Result:
    result = Result("idle")
    count = bench.pick(10_000, 1_000)
    measured: dict[str, list[dict]] = {"pinledger": [], "nginx": []}
    _, ledger = bench.cluster.ledger()
    for _ in range(bench.rounds):
        # New servers each time: memory that was once used stays with a process.
        with Node(ledger, environment={"PINLEDGER_MAX_CONNECTIONS": str(2 * count)}) as node:
            document = node.api.document(APP)
            if document.status != 200:
                document = make_document(node.api, APP)
            measured["pinledger"].append(hold(node.port, node.pid, count))
            with Nginx(TARGET, document) as nginx:
                measured["nginx"].append(hold(nginx.port, nginx.worker, count))
    result.raw = {"connections": count, **measured}
    ours, theirs = (median(measured[name], "bytes_per_connection") for name in ("pinledger", "nginx"))
    result.ratio("times nginx's memory per idle connection", ours / theirs)
    for name, measurements in measured.items():
        before, after = (megabytes(median(measurements, key)) for key in ("before_kib", "after_kib"))
        result.figures.append(
            f"{name}: {median(measurements, 'bytes_per_connection'):,.0f} bytes each, resident "
            f"{before:.1f} → {after:.1f} MB"
        )
    result.notes.append(
        f"{count:,} connections, each after one request for a document of 1.5 KB. The kernel's share is not in it."
    )
    result.goal(
        f"{count:,} idle connections at most {GOAL_BYTES // 1000} kB each", f"{ours / 1000:.1f} kB", ours <= GOAL_BYTES
    )
    return result


def hold(port: int, pid: int, count: int) -> dict:
    """Opens so many connections, sends one request on each, and leaves them idle."""
    request = f"GET {TARGET} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()

    def connect() -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(request)
        answer = connection.recv(65536)
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        return connection

    # What a server allocates for its first clients is no cost of idle ones.
    for connection in [connect() for _ in range(100)]:
        connection.close()
    time.sleep(1)
    before = resident_kilobytes(pid)
    connections = [connect() for _ in range(count)]
    try:
        time.sleep(1)
        after = resident_kilobytes(pid)
        for connection in connections:
            # Alive: it has sent all of the document and nothing else, and it has not hung up.
            connection.setblocking(False)
            try:
                while data := connection.recv(65536):
                    pass
                assert data, "the server closed an idle connection"
            except BlockingIOError:
                pass
    finally:
        for connection in connections:
            connection.close()
    return {
        "before_kib": before, "after_kib": after, "connections": count,
        "bytes_per_connection": (after - before) * 1024 / count,
    }  # fmt: skip
