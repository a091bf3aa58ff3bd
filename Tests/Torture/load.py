"""Clients: that write and repeat until they are answered, and that fetch documents all the while."""

import collections
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pinledger import EVERYTHING, Answer, host_body, pin_of
from report import percentile

TROUBLE = (OSError, http.client.HTTPException)


class Client:
    """One kept-alive connection; made again where it broke."""

    def __init__(self, port: Callable[[], int], token: str | None, seconds: float = 30):
        self._port, self._token, self._seconds = port, token, seconds
        self._connection: http.client.HTTPConnection | None = None

    def request(self, method: str, target: str, body: dict | None = None, headers: dict | None = None) -> Answer:
        sent = dict(headers or {})
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=self._seconds)
        try:
            self._connection.request(method, target, body=data, headers=sent)
            response = self._connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# MARK: Writing

@dataclass(frozen=True)
class Command:
    key: str
    method: str
    target: str
    body: dict


@dataclass
class Acknowledged:
    """A change that was acknowledged to a client."""

    key: str
    #: None: sent without a key.
    actor: str | None
    #: The Pinledger-Position of the answer; None where the answer had none.
    position: int | None
    status: int
    body: bytes


class Writers:
    """Clients that work through their commands, each repeated until it is answered for good."""

    def __init__(
        self, ports: list[Callable[[], int]], token: str, actor: str, commands: list[list[Command]],
        *, is_keyed: bool = True, patience: float = 120, request_seconds: float = 30, pause: float = 0.02,
    ):  # fmt: skip
        self._ports, self._token, self._actor, self._commands = ports, token, actor, commands
        self._is_keyed, self._patience, self._pause = is_keyed, patience, pause
        self._request_seconds = request_seconds
        self.acknowledged: list[Acknowledged] = []
        #: How many answers of each status, and errors of each kind.
        self.answers: collections.Counter = collections.Counter()
        #: When each acknowledgement came, by the monotonic clock.
        self.times: list[float] = []
        self.latencies: list[float] = []
        #: Answers that no client should get.
        self.wrong: list[str] = []
        #: 503 without Retry-After.
        self.bare_503 = 0
        self.given_up = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, args=(index,), daemon=True) for index in range(len(commands))
        ]

    def start(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Each ends with the request that it has sent."""
        self._stop.set()
        self.join()

    def join(self, seconds: float = 600) -> None:
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0, deadline - time.monotonic()))
        if self.is_running:
            self._stop.set()
            raise AssertionError(f"the writers are not done after {seconds} s: {dict(self.answers)}")

    @property
    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    @property
    def count(self) -> int:
        return len(self.acknowledged)

    def wait_for(self, count: int, seconds: float = 300) -> bool:
        """Whether so many commands are acknowledged before the writers end."""
        deadline = time.monotonic() + seconds
        while self.count < count:
            if not self.is_running or time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def first_success_after(self, moment: float, seconds: float = 60) -> float | None:
        """How long after a moment the next acknowledgement came."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if self.times and self.times[-1] >= moment:
                    return min(each for each in self.times if each >= moment) - moment
            if not self.is_running:
                return None
            time.sleep(0.002)
        return None

    def _work(self, index: int) -> None:
        client = Client(self._ports[index % len(self._ports)], self._token, self._request_seconds)
        try:
            for command in self._commands[index]:
                if self._stop.is_set():
                    return
                self._execute(client, command)
        finally:
            client.close()

    def _execute(self, client: Client, command: Command) -> None:
        deadline = time.monotonic() + self._patience
        headers = {"Idempotency-Key": command.key} if self._is_keyed else {}
        while not self._stop.is_set():
            if time.monotonic() > deadline:
                with self._lock:
                    self.given_up += 1
                return
            started = time.monotonic()
            try:
                answer = client.request(command.method, command.target, command.body, headers)
            except TROUBLE as error:
                with self._lock:
                    self.answers[type(error).__name__] += 1
                time.sleep(self._pause)
                continue
            now = time.monotonic()
            with self._lock:
                self.answers[answer.status] += 1
                self.latencies.append(now - started)
                if answer.status < 300:
                    if answer["Idempotency-Replayed"] == "true":
                        self.answers["replayed"] += 1
                    position = answer["Pinledger-Position"]
                    self.acknowledged.append(
                        Acknowledged(
                            command.key, self._actor if self._is_keyed else None,
                            int(position) if position else None, answer.status, answer.body,
                        )
                    )  # fmt: skip
                    self.times.append(now)
                    return
                if answer.status == 503:
                    self.answers[answer.json["type"]] += 1
                    if not answer["Retry-After"]:
                        self.bare_503 += 1
                else:
                    if len(self.wrong) < 20:
                        self.wrong.append(f"{command.method} {command.target}: {answer}")
                    if answer.status < 500:
                        return
            time.sleep(self._pause)


def mixed_commands(apps: list[str], clients: int, count: int, seed: int, prefix: str = "") -> list[list[Command]]:
    """`count` commands shared out to `clients`: hosts, pins to them, and new display names, each unlike every other."""
    all_commands = []
    for client in range(clients):
        chance = random.Random(seed * 1000 + client)
        hosts: list[tuple[str, str]] = []
        pins: collections.Counter = collections.Counter()
        commands = []
        for number in range(count // clients + (1 if client < count % clients else 0)):
            key = f"{prefix}client {client} command {number}"
            kind = chance.random()
            free = [host for host in hosts if pins[host] < 6]
            if number == 0 or (kind < 0.06 and len(hosts) < 20):
                app, name = chance.choice(apps), f"h{number}.c{client}{prefix.strip()}.example.com"
                hosts.append((app, name))
                commands.append(Command(key, "POST", f"/v1/apps/{app}/hosts", host_body(name)))
            elif kind < 0.4 and free:
                app, name = host = chance.choice(free)
                pins[host] += 1
                body = {"pin": pin_of(key), "role": "backup", "state": chance.choice(["active", "staged"])}
                commands.append(Command(key, "POST", f"/v1/apps/{app}/hosts/{name}/pins", body))
            else:
                commands.append(Command(key, "PATCH", f"/v1/apps/{chance.choice(apps)}", {"display_name": key}))
        all_commands.append(commands)
    return all_commands


def token_commands(clients: int, count: int, prefix: str = "") -> list[list[Command]]:
    """Commands that may be carried out any number of times, and leave a trace each time: new tokens, named like the key."""
    return [
        [
            Command(key, "POST", "/v1/tokens", {"grants": EVERYTHING, "name": key})
            for key in (f"{prefix}client {client} command {number}" for number in range(count // clients))
        ]
        for client in range(clients)
    ]


# MARK: Fetching

@dataclass
class Sample:
    #: When it was due, by the monotonic clock that all processes share.
    due: float
    #: From then until the whole answer was there.
    latency: float
    #: 0: no answer.
    status: int


@dataclass
class Samples:
    all: list[Sample]
    #: (when, app, version, issued at, digest of the content) of every document that was other than the one before.
    documents: list[tuple[float, str, int, int, str]] = field(default_factory=list)

    def between(self, start: float, end: float) -> "Samples":
        return Samples([sample for sample in self.all if start <= sample.due < end])

    @property
    def failures(self) -> int:
        return sum(sample.status != 200 for sample in self.all)

    def p(self, share: float) -> float:
        return percentile((sample.latency for sample in self.all), share)

    def falls(self) -> list[str]:
        """Where a document's version fell, or its issue time within a version."""
        last: dict[str, tuple[int, int]] = {}
        found = []
        for _, app, version, issued, _ in self.documents:
            if app in last and (version, issued) < last[app]:
                found.append(f"{app}: after version {last[app][0]} of {last[app][1]} version {version} of {issued}")
            last[app] = (version, issued)
        return found


class Fetcher:
    """Fetches documents at a fixed rate from a process of its own, so that nothing here makes it late."""

    def __init__(self, directory: Path, name: str, port: int, paths: Iterable[str], rate: float):
        self._output = directory / f"{name}-fetches.json"
        #: What was fetched, once it is stopped.
        self.samples: Samples | None = None
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("probe.py")), str(port), str(rate), str(self._output), *paths],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def stop(self) -> Samples:
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(timeout=120) != 0:
            raise AssertionError("the fetching process failed")
        report = json.loads(self._output.read_text())
        self.samples = Samples(
            [Sample(*each) for each in report["samples"]], [tuple(each) for each in report["documents"]]
        )
        return self.samples

    def destroy(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def document_paths(apps: Iterable[str]) -> list[str]:
    return [f"/client/v1/apps/{app}/document" for app in apps]


def actor_of(token: str, port: int) -> str:
    """The owner of a token's idempotency keys: the person or service account, or else the token, kind and id."""
    answer = Client(lambda: port, token).request("GET", "/v1/whoami")
    assert answer.status == 200, str(answer)
    actor = answer.json["actor"]
    return f"principal:{actor['principal_id']}" if "principal_id" in actor else f"{actor['kind']}:{actor['id']}"


# MARK: Server-sent events

def sse_events(response: http.client.HTTPResponse) -> Iterator[tuple[int, dict]]:
    """(id, data) of every event, until the connection ends."""
    position, data = None, None
    while line := response.readline():
        line = line.rstrip(b"\r\n")
        if not line:
            if position is not None and data is not None:
                yield position, json.loads(data)
            position, data = None, None
        elif line.startswith(b"id: "):
            position = int(line[4:])
        elif line.startswith(b"data: "):
            data = line[6:]
