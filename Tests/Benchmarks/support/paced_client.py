"""An open-loop HTTP/1.1 client: paced_client.py '{"port": …, "target": …, "per_second": …}' prints JSON.

Requests are due at fixed moments, whether the server keeps up or not, and a request's time runs from the moment it was
due. A closed loop would send less while the server stalls, and so leave the stall out (coordinated omission). The
client spins instead of sleeping: timers are coarser than the gaps it has to keep.

Where the client itself did not run for a while, because something else had its core, all requests under way or due then
seem to have taken that long. `clean_p99_ms` leaves them out, and `clean` says how many are left.
"""

import gc
import json
import select
import socket
import sys
import time

from rounds import percentile


#: Nanoseconds without a turn of its own after which the client counts as held up.
STALL = 50_000


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_whole(connection: socket.socket) -> bytes:
    """One answer, by its Content-Length; a 304 has none to read."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and not head.startswith(b"HTTP/1.1 304"):
            length = int(value)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def main() -> None:
    job = json.loads(sys.argv[1])
    lines = [f"GET {job['target']} HTTP/1.1", f"Host: 127.0.0.1:{job['port']}"]
    lines += [f"{name}: {value}" for name, value in job["headers"].items()]
    request = "\r\n".join([*lines, "", ""]).encode()

    connections = [connect(job["port"]) for _ in range(job["connections"])]
    size = 0
    for connection in connections:
        connection.sendall(request)
        answer = read_whole(connection)
        # All answers are of one size: then counting bytes is enough, and cheap.
        assert size in (0, len(answer)), f"an answer of {len(answer)} bytes after one of {size}"
        size, status = len(answer), answer[:13]
        connection.setblocking(False)
    by_number = {connection.fileno(): connection for connection in connections}
    poll = select.epoll()
    for number in by_number:
        poll.register(number, select.EPOLLIN)

    gc.disable()
    gap = 1e9 / job["per_second"]
    count = int(job["per_second"] * job["seconds"])
    # Each connection's request in flight: when it was due, and how many bytes of the answer are missing.
    due_at = dict.fromkeys(by_number, 0.0)
    missing = dict.fromkeys(by_number, 0)
    free = list(by_number)
    stalled = dict.fromkeys(by_number, False)
    times: list[float] = []
    clean: list[float] = []
    lateness = 0.0
    sent = failed = 0
    began = last = time.perf_counter_ns() + 10_000_000
    held_until = 0
    while len(times) + failed < count and failed < len(connections):
        now = time.perf_counter_ns()
        if now - last > STALL:
            held_until = now
            stalled = dict.fromkeys(stalled, True)
        last = now
        while free and sent < count and (due := began + sent * gap) <= now:
            number = free.pop()
            due_at[number], missing[number], stalled[number] = due, size, due < held_until
            by_number[number].send(request)
            lateness = max(lateness, now - due)
            sent += 1
        for number, _ in poll.poll(0):
            data = by_number[number].recv(65536)
            if not data:
                poll.unregister(number)
                failed += 1
                continue
            is_other = missing[number] == size and not data.startswith(status)
            missing[number] -= len(data)
            if is_other or missing[number] < 0:
                poll.unregister(number)
                failed += 1
            elif missing[number] == 0:
                times.append((time.perf_counter_ns() - due_at[number]) / 1e6)
                if not stalled[number]:
                    clean.append(times[-1])
                free.append(number)
    seconds = (time.perf_counter_ns() - began) / 1e9
    print(json.dumps({
        "requests": len(times), "seconds": seconds, "per_second": len(times) / seconds, "errors": failed,
        "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "p999_ms": percentile(times, 0.999),
        "clean": len(clean) / len(times), "clean_p99_ms": percentile(clean or times, 0.99), "max_ms": max(times), "sent_late_ms": lateness / 1e6, "status": status.decode(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
