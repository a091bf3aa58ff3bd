"""Pinledger as the tests use it: a server of its own directory, its HTTP API, its command line."""

import base64
import contextlib
import fcntl
import functools
import hashlib
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from clock import MovedClock, library

BINARY = os.environ.get("PINLEDGER_BIN", str(Path(__file__).parents[2] / ".build/debug/pinledger"))
#: True in `make test-all`: long random series run in full; at each landing they begin alike and end earlier.
FULL = os.environ.get("PINLEDGER_TEST_DEPTH") == "full"


class Ports:
    """The ports of this process: a hundred that no other test process on this machine hands out.

    A port that the system names and that is closed again may be another process's before it is used. The block's lock
    ends with the process.
    """

    FIRST, SIZE, BLOCKS = 10_000, 100, 100

    def __init__(self):
        directory = Path(tempfile.gettempdir(), f"pinledger-ports-{os.getuid()}")
        directory.mkdir(mode=0o700, exist_ok=True)
        start = os.getpid() % self.BLOCKS
        for block in (*range(start, self.BLOCKS), *range(start)):
            self._lock = (directory / str(block)).open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
                continue
            first = self.FIRST + block * self.SIZE
            self._numbers = itertools.cycle(range(first, first + self.SIZE))
            return
        raise RuntimeError("other test processes have all the ports")

    def next(self) -> int:
        for port in itertools.islice(self._numbers, self.SIZE):
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    listener.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
        raise RuntimeError("all ports of this process are taken")


@functools.cache
def ports(process: int) -> Ports:
    return Ports()


def free_port() -> int:
    # A forked process has a block of its own.
    return ports(os.getpid()).next()


def eventually(look, what: str = "it", seconds: float = 180):
    """What `look` finds, as soon as it finds something. The bound is for what never comes, not for what is slow."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not come about in {seconds} s"
        time.sleep(0.05)
    return found


def sleeps(process: int | str) -> bool:
    """Says that no thread of a process has work at this moment."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/stat")]
    except OSError:
        # A thread has just ended.
        return False
    return all(thread.rpartition(")")[2].split()[0] == "S" for thread in threads)


def canonical(value) -> bytes:
    """RFC 8785 for what documents may hold: integers, and strings of printable ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unbase64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def from_now(**interval) -> str:
    """An instant as the API reads it: from_now(hours=1)."""
    return (datetime.now(timezone.utc) + timedelta(**interval)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pin_of(text: str) -> str:
    """A pin that stands for no key: the digest of a text."""
    return "sha256/" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def pin_hex(pin: str) -> str:
    """A pin as it stands in paths."""
    return base64.b64decode(pin.removeprefix("sha256/")).hex()


# What a token of an administrator is granted.
EVERYTHING = [{"role": "admin", "apps": ["*"]}]


def host_body(name: str, *, mode: str = "enforce", salt: str = "") -> dict:
    """The body that adds a host with a primary and a backup pin."""
    return {
        "host": name,
        "baseline": {
            "source": "document",
            "mode": mode,
            "pins": [
                {"pin": pin_of(f"{name} primary {salt}"), "role": "primary"},
                {"pin": pin_of(f"{name} backup {salt}"), "role": "backup"},
            ],
        },
    }


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def recorded(self) -> dict:
        """What a change recorded, without what was said about it: a repeated request hears nothing of that."""
        return {name: value for name, value in self.json.items() if name != "guard_rail_findings"}

    @property
    def json(self):
        return json.loads(self.body)

    def __getitem__(self, name: str) -> str | None:
        """A header."""
        return self.headers[name]

    def __str__(self) -> str:
        return f"{self.status} {self.body[:2000]!r}"


class API:
    """The HTTP API, with the target sent exactly as it is given."""

    def __init__(self, port: int, token: str | None):
        self.port = port
        self.token = token

    def request(self, method: str, target: str, body=None, headers: dict | None = None, *, token=...) -> Answer:
        sent = dict(headers or {})
        token = self.token if token is ... else token
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        with self.connected() as connection:
            connection.request(method, target, body=body, headers=sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    @contextlib.contextmanager
    def connected(self):
        """The connection of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            yield connection
        finally:
            connection.close()

    def get(self, target: str, **headers) -> Answer:
        return self.request("GET", target, headers=headers or None)

    def post(self, target: str, body=None, **headers) -> Answer:
        return self.request("POST", target, {} if body is None else body, headers)

    def must(self, method: str, target: str, body=None, headers: dict | None = None) -> Answer:
        """A request that is part of the preparation, and has to succeed."""
        answer = self.request(method, target, body, headers)
        assert answer.status < 300, f"{method} {target}: {answer}"
        return answer

    def holding(self, role: str, *apps: str, name: str = "test", **more) -> "API":
        """The same server for the holder of a new token with a role on some apps, or on all."""
        grants = [{"role": role, "apps": list(apps) or ["*"]}]
        made = self.must("POST", "/v1/tokens", {"name": name, "grants": grants} | more).json
        return API(self.port, made["token"])

    def fleet_version(self) -> int:
        """How many events hold for every app; each counts into every document's version."""
        return self.get("/v1/fleet").json["version"]

    def position(self) -> int:
        """How many events the ledger has."""
        return self.get("/readyz").json["position"]

    def mark(self) -> int:
        """A place in the ledger: what is recorded later is since(mark)."""
        return self.position()

    def since(self, mark: int) -> list[dict]:
        """The events behind a mark, oldest first, but for what the server records by itself at times of its own."""
        return [event for event in self.history(after=mark - 1) if event["actor"]["kind"] != "system"]

    def history(self, path: str = "/v1/history", **filters) -> list[dict]:
        """Every event, or those that filters let through, oldest first, over all pages."""
        query = urllib.parse.urlencode({"order": "oldest", "limit": 1000} | filters)
        events, cursor = [], ""
        while True:
            page = self.must("GET", f"{path}?{query}{cursor}").json
            events += page["events"]
            if "next_cursor" not in page:
                return events
            cursor = f"&cursor={page['next_cursor']}"

    def document(self, app: str, **headers) -> Answer:
        return self.request("GET", f"/client/v1/apps/{app}/document", headers=headers, token=None)

    def payload(self, app: str) -> dict:
        """What an app's document says, unverified."""
        answer = self.document(app)
        assert answer.status == 200, str(answer)
        return json.loads(unbase64url(answer.body.decode().split(".")[1]))

    def lower_rails(self) -> None:
        """Lets the guard rails only warn that would have most tests show real keys, and change little in an hour. Where
        nothing can be recorded, they stay as they are."""
        for code in ("G13", "G26", "G42"):
            if self.get(f"/v1/guard-rails/{code}").json.get("lowered") is False:
                self.request("PUT", f"/v1/guard-rails/{code}", {"lowered": True, "reason": "pins of no key in tests"})

    def make_app(self, app: str, *hosts: str) -> None:
        self.must("POST", "/v1/apps", {"app": app})
        for host in hosts:
            self.must("POST", f"/v1/apps/{app}/hosts", host_body(host))


def log_line(text: str) -> dict:
    """A line of a log by the names of its details; those of an object in JSON, or of a line for people. What is no line of
    a log has none."""
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            return {}
    if not (found := re.fullmatch(r"(\S+) (\w+) \S+: (.*?) ?\[\w+\] (.*)", text, re.DOTALL)):
        return {}
    details = (part.partition("=") for part in re.split(r" (?=[a-z_]+=)", found[3]))
    return {name: value for name, _, value in details} | {"time": found[1], "level": found[2], "message": found[4]}


class Process:
    """A pinledger process that listens on a port of 127.0.0.1, with its output in a file."""

    def __init__(self, log: Path, arguments: list[str], port: int, environment: dict | None = None):
        self.log, self.arguments, self.port = log, arguments, port
        #: What runs the program, where it is not run by itself.
        self.prefix: list[str] = []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
        # No change is refused for the slowness of the machine.
        self.environment |= {"PINLEDGER_DATABASE_TIMEOUT": "60", "LD_PRELOAD": str(library())} | (environment or {})
        self.process: subprocess.Popen | None = None

    def spawn(self) -> None:
        assert self.process is None
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C is for the tests, which stop the server themselves.
            self.process = subprocess.Popen(
                [*self.prefix, BINARY, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip

    def wait_until(self, is_ready, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        pause = 0.05
        while True:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.tail()}"
            try:
                if is_ready():
                    return
            except (AttributeError, OSError, http.client.HTTPException, ValueError):
                pass
            assert time.monotonic() < deadline, f"the server is not ready after {seconds} s:\n{self.tail()}"
            # A server that starts is not kept from it by questions.
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)

    def mark_log(self) -> int:
        """A place in the log: lines behind it are said(code, since=mark)."""
        return self.log.stat().st_size if self.log.exists() else 0

    def written(self, since: int = 0) -> str:
        """The log behind a mark, in whole lines."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(since)
            return file.read().rpartition(b"\n")[0].decode(errors="replace")

    def said(self, code: str, since: int = 0) -> list[dict]:
        """The lines of the log with a code, oldest first, behind a mark: each by the names of its details, in either form of
        the log."""
        # The database's own words may have several lines, which stand behind the first one.
        lines = map(log_line, re.split(r"\n(?=\{|\d{4}-\d\d-\d\dT)", self.written(since)))
        return [line for line in lines if line.get("code") == code]

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Stops as an operator does; a server that does not end in order is a failure."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not stop within 120 s:\n{self.tail()}") from None
        assert code == 0, f"the server ended with {code}:\n{self.tail()}"

    def kill(self) -> None:
        """The power cut: SIGKILL."""
        assert self.process is not None
        process, self.process = self.process, None
        process.kill()
        process.wait()


class Server(Process):
    """`pinledger dev` in a directory of its own."""

    def __init__(
        self, home: Path | None = None, *, lowers_rails: bool = True, more: list[str] | None = None, has_clock: bool = False
    ):
        """With `has_clock`, a test moves the time of the server, its database and its commands: `forward`."""
        self.lowers_rails = lowers_rails
        if home is None:
            home = Path(tempfile.mkdtemp(prefix="pinledger-e2e-"))
            # Started by root, the database runs as the account postgres, which has to get there.
            home.chmod(0o755)
        self.home = home
        self.data = home / "data"
        port = free_port()
        super().__init__(home / "server.log", ["dev", "--data", str(self.data), "--listen", f"127.0.0.1:{port}"] + (more or []), port)
        # Tests look for lines that only inform.
        self.environment.setdefault("PINLEDGER_LOG_LEVEL", "notice")
        self.api = API(port, None)
        self.clock: MovedClock | None = None
        #: Other processes on this database, which live in its time: `start_node` adds them.
        self.nodes: list[Process] = []
        if has_clock:
            self.clock = MovedClock(home / "clock")
            self.environment |= self.clock.environment

    def forward(self, **interval) -> None:
        """Lets time pass: forward(hours=1). The server is ready again at the end; its workers see the time within seconds."""
        assert self.clock, "a server whose time moves is started with has_clock=True"
        eventually(lambda: self.api.get("/readyz").status == 200, "a server that is ready")
        eventually(lambda: self._moves_at_rest(interval), "a moment in which the server rests")
        eventually(lambda: self.api.get("/readyz").status == 200, "a server that is ready after its clock moved")

    def _moves_at_rest(self, interval: dict) -> bool:
        """Work under way would seem to have taken the whole interval, and would meet its limit. So the clock moves only while
        all threads of the nodes and the database sleep and every statement is answered, and the nodes stand still meanwhile."""
        nodes = [node for node in (self, *self.nodes) if node.is_running]
        postmaster = int(self._database_pid_file.read_text().split()[0])
        backends = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        if not all(sleeps(process) for process in (*(node.process.pid for node in nodes), *backends)):
            return False
        busy = """
            SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND state IS DISTINCT FROM 'idle' AND pid <> pg_backend_pid()"""
        try:
            for node in nodes:
                node.process.send_signal(signal.SIGSTOP)
            is_idle = self.sql(busy) == "0"
            if is_idle:
                self.clock.move(**interval)
            return is_idle
        finally:
            for node in nodes:
                node.process.send_signal(signal.SIGCONT)

    def start(self) -> "Server":
        self.spawn()
        context = self.data / "context.json"

        def is_ready() -> bool:
            # A token that is in the context no more is refused whatever it asks for.
            self.api.token = None
            if self.api.get("/readyz").status != 200 or not context.exists():
                return False
            self.api.token = json.loads(context.read_text())["token"]
            # The context of an earlier start may be there before the token of this one.
            return self.api.get("/v1/whoami").status == 200

        self.wait_until(is_ready)
        assert json.loads(context.read_text())["server"] == f"http://127.0.0.1:{self.port}"
        if self.lowers_rails:
            self.api.lower_rails()
        return self

    def restart(self) -> "Server":
        self.stop()
        assert not self._database_pid_file.exists(), "the database was left running"
        return self.start()

    def destroy(self) -> None:
        """Ends everything, whatever happened before, and removes it."""
        try:
            if self.is_running:
                self.stop()
        finally:
            self._stop_database()
            shutil.rmtree(self.home, ignore_errors=True)

    @property
    def _database_pid_file(self) -> Path:
        return self.data / "postgresql/data/postmaster.pid"

    def _stop_database(self) -> None:
        """Stops a database that a killed server left behind: SIGINT is PostgreSQL's fast shutdown."""
        try:
            os.kill(int(self._database_pid_file.read_text().split()[0]), signal.SIGINT)
        except (FileNotFoundError, ProcessLookupError, IndexError, ValueError):
            return
        deadline = time.monotonic() + 30
        while self._database_pid_file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def connection_string(self) -> str:
        return f"host='{self.data}/postgresql' port=5432 dbname=pinledger user=pinledger_dev"

    @property
    def _psql(self) -> list[str]:
        return ["psql", "-X", "-q", "-A", "-t", "-h", f"{self.data}/postgresql", "-U", "postgres"]

    def sql(self, text: str, *, database: str = "pinledger") -> str:
        """Runs one statement as the database's superuser; its rows as psql prints them."""
        command = [*self._psql, "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.strip()

    @contextlib.contextmanager
    def locked(self, table: str, mode: str):
        """Holds a table's lock, so that a session that wants a conflicting one waits for it."""
        with subprocess.Popen([*self._psql, "-v", "ON_ERROR_STOP=1", "-d", "pinledger"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
            try:
                psql.stdin.write(f"BEGIN; LOCK TABLE {table} IN {mode} MODE; SELECT 'held';\n")
                psql.stdin.flush()
                assert psql.stdout.readline() == "held\n"
                yield
            finally:
                # At the end of its input psql ends, and with it the transaction.
                psql.stdin.close()

    @property
    def database_log(self) -> str:
        """The database's log: also why it ended a statement."""
        return (self.data / "postgresql/postgresql.log").read_text(errors="replace")

    def cli(
        self, *arguments: str, status: int = 0, input: str | None = None, token: str | None = None
    ) -> subprocess.CompletedProcess:
        """Runs a command of the operator's, or of the token's holder, which must end with `status`."""
        environment = self.environment | {"PINLEDGER_DATA": str(self.data), "NO_COLOR": "1"}
        # What commands remember of one server is not for the next.
        environment["XDG_STATE_HOME"] = str(self.home / "state")
        environment["XDG_CONFIG_HOME"] = str(self.home / "config")
        if token:
            environment["PINLEDGER_TOKEN"] = token
        done = subprocess.run(
            [BINARY, *arguments], env=environment, input=input, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == status, f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done

    def cli_json(self, *arguments: str) -> dict:
        return json.loads(self.cli(*arguments, "--output", "json").stdout)


def in_threads(count: int, work) -> list:
    """Runs `work(index)` in `count` threads that begin together; the results in order, the first error raised."""
    results: list = [None] * count
    barrier = threading.Barrier(count)

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = work(index)
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
