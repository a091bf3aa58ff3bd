"""Clients that take a server's time, memory and file descriptors, and what others notice of it."""

import contextlib
import errno
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from node import resident, runnable_share
from report import Experiment, Measurement, megabytes, milliseconds
from stage import Stage

#: Latencies below this are noise on a machine that the clients share with the server.
NOISE = 0.02
#: Slow clients a second.
ARRIVALS = 200


class Crowd:
    """Many sockets at once, each with something to send at intervals, and their outcomes."""

    def __init__(self, port: int):
        self.port = port
        self.selector = selectors.DefaultSelector()
        self.open: dict[socket.socket, dict] = {}
        #: How long each lived until the server closed it, by kind.
        self.lives: dict[str, list[float]] = {}
        self.refused = 0

    def join(self, kind: str, first: bytes, *, drip: Callable[[int], bytes] | None = None, reads: bool = True,
             receive_buffer: int | None = None) -> None:  # fmt: skip
        """Connects and sends `first`; `drip` gives the bytes for each second after that."""
        member = socket.socket()
        if receive_buffer:
            member.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        member.settimeout(5)
        try:
            member.connect(("127.0.0.1", self.port))
            member.sendall(first)
        except OSError:
            self.refused += 1
            member.close()
            return
        member.setblocking(False)
        self.lives.setdefault(kind, [])
        self.open[member] = {"kind": kind, "since": time.monotonic(), "drip": drip, "turn": 0, "received": 0,
                             "reads": reads}  # fmt: skip
        if reads:
            self.selector.register(member, selectors.EVENT_READ)

    def live(self, seconds: float) -> None:
        """Reads for so long, and once a second sends the next bytes."""
        end = time.monotonic() + seconds
        dripped = time.monotonic()
        while (now := time.monotonic()) < end:
            if self.selector.get_map():
                for key, _ in self.selector.select(0.05):
                    self._read(key.fileobj)
            else:
                time.sleep(0.05)
            if now - dripped >= 1:
                dripped = now
                held = self._held_by_server() if any(not state["reads"] for state in self.open.values()) else None
                for member, state in list(self.open.items()):
                    self._drip(member, state, held)

    def _held_by_server(self) -> set[int]:
        """The ports of those whose connection the server has not closed, by what the kernel says of its side.

        Whoever does not read does not learn of it: the server's FIN waits behind what it has sent.
        """
        established, close_wait = "01", "08"
        held = set()
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            local, remote, state = line.split()[1:4]
            if int(local.partition(":")[2], 16) == self.port and state in (established, close_wait):
                held.add(int(remote.partition(":")[2], 16))
        return held

    def _read(self, member: socket.socket) -> None:
        try:
            received = member.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if received:
            self.open[member]["received"] += len(received)
        else:
            self._leave(member)

    def _drip(self, member: socket.socket, state: dict, held: set[int] | None) -> None:
        if not state["reads"] and held is not None and member.getsockname()[1] not in held:
            self._leave(member)
            return
        if state["drip"] is None:
            return
        state["turn"] += 1
        try:
            member.send(state["drip"](state["turn"]))
        except BlockingIOError:
            pass
        except OSError:
            self._leave(member)

    def _leave(self, member: socket.socket) -> None:
        state = self.open.pop(member, None)
        if state is None:
            return
        self.lives[state["kind"]].append(time.monotonic() - state["since"])
        with contextlib.suppress(KeyError):
            self.selector.unregister(member)
        member.close()

    def count(self, kind: str) -> int:
        return sum(state["kind"] == kind for state in self.open.values())

    def received(self) -> int:
        return sum(state["received"] for state in self.open.values())

    def close(self) -> None:
        for member in list(self.open):
            with contextlib.suppress(KeyError):
                self.selector.unregister(member)
            member.close()
        self.open = {}
        self.selector.close()


# MARK: F12

def slow_clients(stage: Stage, is_broken: bool) -> Measurement:
    """F12: slow headers, slow bodies, slow readers."""
    measurement = Measurement()
    ledger = stage.ledger()
    # The short form has no time for the limits of a real server.
    limit = stage.size(4, 30)
    options = []
    if is_broken:
        options = ["--header-timeout", "3600", "--body-timeout", "3600", "--write-timeout", "3600"]
    elif stage.is_short:
        options = ["--header-timeout", "3", "--body-timeout", "4", "--write-timeout", "4"]
    node = stage.node(ledger, *options)
    apps = stage.apps(node, 4)
    previous = stage.before(ledger)
    headers, bodies, readers = (200, 50, 50) if stage.is_short or is_broken else (2000, 500, 500)
    duration = 9 if stage.is_short or is_broken else 60
    fetcher = stage.fetcher(node.port, apps, rate=200)
    begun = time.monotonic()
    time.sleep(stage.size(2.5, 10))
    quiet = (begun + 0.5, time.monotonic())
    before = resident(node.pid)
    crowd = Crowd(node.port)
    stage.on_exit(crowd.close)
    token = f"Authorization: Bearer {node.api.token}\r\n"
    # Enough answers for the kernel's buffers to be full long before the last.
    greedy = b"GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n" * 400
    started = time.monotonic()
    head = f"POST /v1/apps HTTP/1.1\r\nHost: x\r\n{token}Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n{{"
    kinds = ["header"] * headers + ["body"] * bodies + ["reader"] * readers
    stage.random.shuffle(kinds)
    for number, kind in enumerate(kinds):
        if kind == "header":
            crowd.join(kind, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", drip=lambda turn: b"X-%d: 1\r\n" % turn)
        elif kind == "body":
            crowd.join(kind, head.encode(), drip=lambda _: b" ")
        else:
            crowd.join(kind, greedy, reads=False, receive_buffer=4096)
        # They come one after the other, as from one attacker: all at once would measure how fast they are accepted.
        if number % 10 == 9:
            crowd.live(10 / ARRIVALS)
    crowd.live(max(0, duration - (time.monotonic() - started)))
    busy = (started, time.monotonic())
    grown = resident(node.pid) - before
    samples = fetcher.stop()

    base, slowed = samples.between(*quiet).p(0.99), samples.between(*busy)
    lives = {kind: max(times, default=0) for kind, times in crowd.lives.items()}
    left = {kind: crowd.count(kind) for kind in crowd.lives}
    measurement.figures |= {
        "slow": {"header": headers, "body": bodies, "reader": readers}, "longest_life": lives, "still_open": left,
        "fetch_p99_before": base, "fetch_p99": slowed.p(0.99), "fetches": len(slowed.all),
        "fetches_failed": slowed.failures, "memory_growth": grown,
    }  # fmt: skip
    # A slow sender notices the close at its next byte, a second later at the most.
    allowed = limit + 3
    measurement.expect("closed", not any(left.values()), f"still open after {duration} s: {left}")
    measurement.expect("in time", max(lives.values(), default=0) <= allowed, f"the slowest lived {lives}")
    measurement.expect("fetched", slowed.failures == 0, f"{slowed.failures} fetches failed")
    p99 = slowed.p(0.99)
    measurement.expect("fetch p99", p99 <= max(2 * base, NOISE), f"{milliseconds(p99)}, before {milliseconds(base)}")
    measurement.expect("memory", grown <= 100e6, f"{megabytes(grown)} more")
    crowd.close()
    stage.invariants(measurement, ledger, node, (), previous)
    lived = ", ".join(f"{kind} ≤ {life:.1f} s" for kind, life in lives.items() if life)
    measurement.headline = (
        (f"{sum(left.values())} of {headers + bodies + readers} still open; " if any(left.values()) else f"closed: {lived}; ")
        + f"fetch p99 {milliseconds(base)} → {milliseconds(p99)}, memory + {megabytes(grown)}"
    )
    return measurement


# MARK: F13

def idle_clients(stage: Stage, is_broken: bool) -> Measurement:
    """F13: very many connections that do nothing."""
    measurement = Measurement()
    ledger = stage.ledger()
    count = 300 if is_broken else stage.size(1000, 10_000)
    idle = stage.size(5, 30)
    node = stage.node(
        ledger, "--idle-timeout", "3600" if is_broken else str(idle), "--max-connections", str(count + 100)
    )  # fmt: skip
    apps = stage.apps(node, 4)
    previous = stage.before(ledger)
    # The server's fixed costs do not belong to the connections.
    warm = Crowd(node.port)
    request = f"GET /client/v1/apps/{apps[0]}/document HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    for _ in range(100):
        warm.join("idle", request)
    warm.live(0.5)
    warm.close()
    fetcher = stage.fetcher(node.port, apps, rate=200)
    begun = time.monotonic()
    time.sleep(stage.size(2.5, 8))
    quiet = (begun + 0.5, time.monotonic())
    before = resident(node.pid)
    crowd = Crowd(node.port)
    stage.on_exit(crowd.close)
    for number in range(count):
        crowd.join("idle", request)
        if number % 100 == 99:
            crowd.live(0.01)
    crowd.live(0.5)
    held = time.monotonic()
    answered = sum(state["received"] > 0 for state in crowd.open.values())
    each = (resident(node.pid) - before) / max(1, answered)
    crowd.live(min(idle * 0.5, stage.size(2, 8)))
    busy = (held, time.monotonic())
    crowd.live(idle + 4)
    left = len(crowd.open)
    samples = fetcher.stop()
    base, slowed = samples.between(*quiet).p(0.99), samples.between(*busy)
    measurement.figures |= {
        "connections": count, "answered": answered, "refused": crowd.refused, "bytes_each": each,
        "fetch_p99_before": base, "fetch_p99": slowed.p(0.99), "fetches_failed": samples.failures, "still_open": left,
        "longest_life": max(crowd.lives["idle"], default=0),
    }  # fmt: skip
    p99 = slowed.p(0.99)
    measurement.expect("accepted", answered == count, f"{answered} of {count} were served, {crowd.refused} refused")
    measurement.expect("memory", each <= 20_000, f"{each:.0f} bytes each")
    measurement.expect("fetch p99", p99 <= max(1.5 * base, NOISE), f"{milliseconds(p99)}, before {milliseconds(base)}")
    measurement.expect("fetched", samples.failures == 0, f"{samples.failures} fetches failed")
    measurement.expect("closed", left == 0, f"{left} are open {idle + 4} s later")
    crowd.close()
    stage.invariants(measurement, ledger, node, (), previous)
    measurement.headline = (
        f"{answered} of {count} served, {each / 1000:.1f} kB each, fetch p99 {milliseconds(base)} → {milliseconds(p99)}, "
        f"{left} open past the idle timeout"
    )
    return measurement


# MARK: F14

#: Waits for connections and, when there is no descriptor left for one, asks again at once.
SPINNING = """
import select, socket, sys
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
listener.setblocking(False)
print(listener.getsockname()[1], flush=True)
poll = select.poll()
poll.register(listener, select.POLLIN)
accepted = []
while True:
    poll.poll()
    try:
        accepted.append(listener.accept()[0])
    except OSError:
        pass
"""


def no_descriptors(stage: Stage, is_broken: bool) -> Measurement:
    """F14: more connections than the server may have descriptors."""
    measurement = Measurement()
    limit = ["prlimit", "--nofile=256:256"]
    ledger = node = previous = None
    if is_broken:
        server = subprocess.Popen([*limit, sys.executable, "-c", SPINNING], stdout=subprocess.PIPE, text=True)
        stage.on_exit(lambda: (server.kill(), server.wait(), server.stdout.close()))
        port, process = int(server.stdout.readline()), server.pid
    else:
        ledger = stage.ledger()
        node = stage.node(ledger, prefix=limit)
        (app,) = stage.apps(node, 1)
        previous = stage.before(ledger)
        port, process = node.port, node.pid
    resting = runnable_share(process, 1)
    members = []

    def connect() -> socket.socket | None:
        member = socket.socket()
        member.setblocking(False)
        try:
            member.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNREFUSED, errno.ECONNRESET):
                raise
            member.close()
            return None
        return member

    stage.on_exit(lambda: [member.close() for member in members])
    for _ in range(400):
        if member := connect():
            members.append(member)
    time.sleep(0.5)
    descriptors = len(os.listdir(f"/proc/{process}/fd"))
    share = runnable_share(process, stage.size(3, 10))
    for member in members:
        member.close()
    members.clear()
    closed = time.monotonic()
    measurement.figures |= {"runnable_at_rest": resting, "runnable": share, "descriptors": descriptors}
    measurement.expect("no spin", share < 0.5, f"it wants a core {share:.0%} of the time")
    measurement.headline = f"wants a core {share:.0%} of the time with 400 connections and 256 descriptors"
    if node is not None:
        recovered = None
        while time.monotonic() - closed < 60:
            try:
                if node.api.document(app).status == 200:
                    recovered = time.monotonic() - closed
                    break
            except OSError:
                time.sleep(0.05)
        measurement.figures["recovered_after"] = recovered
        measurement.expect("recovers", recovered is not None, f"after {recovered} s")
        measurement.expect("lives", node.is_running, node.tail()[-300:])
        time.sleep(0.5)
        stage.invariants(measurement, ledger, node, (), previous)
        measurement.headline += f"; fetches again after {milliseconds(recovered or 99)}"
    return measurement


EXPERIMENTS = [
    Experiment(
        "F12", "slow headers, slow bodies and slow readers", "timeouts of an hour", {"closed", "in time"}, slow_clients,
        needs=("--header-timeout", "--body-timeout", "--write-timeout"),
    ),
    Experiment(
        "F13", "very many idle connections", "--idle-timeout 3600", {"closed"}, idle_clients,
        needs=("--idle-timeout", "--max-connections"),
    ),
    Experiment(
        "F14", "400 connections to a server with 256 file descriptors", "an accept loop that spins", {"no spin"},
        no_descriptors,
    ),
]  # fmt: skip
