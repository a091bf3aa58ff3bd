"""From the answer to a kill switch until it has arrived at every client that waits on a stream; and what a stream costs."""

import time

from pinledger import from_now

from support.bench import Bench
from support.processes import megabytes, resident_kilobytes
from support.push_clients import PushClients
from support.report import Result
from support.rounds import percentile
from support.servers import Node, make_document

APP = "com.example.bench"
GOAL_MS = 250
GOAL_BYTES = 20_000


def run(bench: Bench) -> Result:
    result = Result("push")
    count, changes = bench.pick(5_000, 500), bench.pick(20, 4)
    _, ledger = bench.cluster.ledger()
    limit = {"PINLEDGER_MAX_CONNECTIONS": str(2 * count), "PINLEDGER_CLIENT_STREAMS": str(count)}
    with Node(ledger, environment=limit) as node:
        make_document(node.api, APP)
        version = node.api.payload(APP)["version"]
        # What a server allocates for its first clients is no cost of waiting ones.
        with PushClients(node.port, APP, 100) as clients:
            clients.wait_for(version)
        time.sleep(1)
        before = resident_kilobytes(node.pid)
        with PushClients(node.port, APP, count) as clients:
            clients.wait_for(version)
            time.sleep(1)
            waiting = resident_kilobytes(node.pid)
            assert node.api.get("/readyz").json["client_streams"] == count
            late, last = [], []
            for number in range(changes):
                if number % 2:
                    answer = node.api.must("DELETE", f"/v1/apps/{APP}/kill-switch?reason=over")
                else:
                    body = {"expires_at": from_now(hours=1), "reason": "benchmark"}
                    answer = node.api.must("PUT", f"/v1/apps/{APP}/kill-switch", body)
                answered = time.monotonic()
                version += len(answer.json["events"])
                times = [(arrived - answered) * 1000 for arrived in clients.wait_for(version)]
                late += times
                last.append(max(times))
                time.sleep(0.3)
            pushed = resident_kilobytes(node.pid)
        p50, p99 = percentile(late, 0.5), percentile(late, 0.99)
    each = (pushed - before) * 1024 / count
    result.figures += [
        f"p50 {p50:.1f} ms  p99 {p99:.1f} ms  max {max(late):.1f} ms after the answer "
        f"({count:,} streams, {changes} changes, document of 1.5 KB)",
        f"{(waiting - before) * 1024 / count:,.0f} bytes per stream that waits, {each:,.0f} after {changes} documents; "
        f"resident {megabytes(before):.1f} → {megabytes(waiting):.1f} → {megabytes(pushed):.1f} MB",
    ]
    result.notes.append("The clients are one process in Python on the same machine; its time to read is in the figures.")
    result.raw = {
        "streams": count, "changes": changes, "p50_ms": p50, "p99_ms": p99, "last_ms": [round(ms, 3) for ms in last],
        "before_kib": before, "waiting_kib": waiting, "pushed_kib": pushed, "bytes_per_stream": each,
    }  # fmt: skip
    result.goal(
        f"a kill switch arrives at {count:,} streams within {GOAL_MS} ms of its answer (p99)", f"{p99:.1f} ms",
        p99 <= GOAL_MS,
    )  # fmt: skip
    result.goal(f"a stream costs at most {GOAL_BYTES // 1000} kB", f"{each / 1000:.1f} kB", each <= GOAL_BYTES)
    return result
