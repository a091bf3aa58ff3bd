"""The power cut: the server is killed again and again while eight clients write. Whatever it acknowledged is in the
ledger exactly once, whatever it did not is there once or not at all, and clients that repeat lose nothing."""

import collections
import http.client
import json
import random
import threading
import time

import pytest
from documents import verify
from pinledger import API, Server, eventually, host_body, in_threads, pin_of, unbase64url

SEED = 20260131
CLIENTS = 8
COMMANDS = 1000
APPS = [f"com.example.app{number}" for number in range(6)]


@pytest.fixture(scope="module")
def killed_server():
    server = Server()
    try:
        yield server.start()
    finally:
        server.destroy()


class Watch:
    """Fetches all documents of some apps, round and round, and notes every version that falls."""

    def __init__(self, port: int, apps: list[str], newest: dict[str, int] | None = None):
        self._api, self._apps = API(port, None), apps
        self.falls: list[str] = []
        self._newest = collections.Counter(newest or {})
        self.fetched = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exception) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            for app in self._apps:
                self._look(app)

    def _look(self, app: str) -> None:
        try:
            answer = self._api.document(app)
        except (OSError, http.client.HTTPException):
            return
        if answer.status != 200:
            if answer.status != 503 or not answer["Retry-After"]:
                self.falls.append(f"{app}: {answer}")
            return
        self.fetched += 1
        version = json.loads(unbase64url(answer.body.decode().split(".")[1]))["version"]
        if version < self._newest[app]:
            self.falls.append(f"{app}: version {version} after {self._newest[app]}")
        self._newest[app] = max(version, self._newest[app])


def commands_of(client: int) -> list[tuple[str, str, dict]]:
    """What one client will do: key, target, body. It first adds hosts of its own, then pins to them."""
    chance = random.Random(SEED + client)
    hosts, commands = [], []
    for number in range(COMMANDS // CLIENTS):
        key = f"client {client} command {number}"
        if number < 6 or chance.random() < 0.05:
            app, name = chance.choice(APPS), f"h{number}.c{client}.example.com"
            hosts.append((app, name))
            commands.append((key, f"/v1/apps/{app}/hosts", host_body(name)))
        else:
            app, name = chance.choice(hosts)
            body = {"pin": pin_of(key), "role": "backup", "state": chance.choice(["active", "staged"])}
            commands.append((key, f"/v1/apps/{app}/hosts/{name}/pins", body))
    return commands


def test_nothing_acknowledged_is_lost_and_nothing_is_recorded_twice(killed_server):
    server, api = killed_server, killed_server.api
    api.must("PATCH", "/v1/fleet", {"issuer": "pins.example.com"})
    for app in APPS:
        api.make_app(app)
    prepared = len(api.history())

    acknowledged: dict[str, dict] = {}
    retries = collections.Counter()
    lock = threading.Lock()
    ended = threading.Event()

    def client(number: int) -> None:
        mine = API(server.port, api.token)
        for key, target, body in commands_of(number):
            deadline = time.monotonic() + 180
            while True:
                assert time.monotonic() < deadline, f"{key} is not acknowledged"
                try:
                    answer = mine.post(target, body, **{"Idempotency-Key": key})
                except (OSError, http.client.HTTPException) as error:
                    retries[type(error).__name__] += 1
                    time.sleep(0.02)
                    continue
                if answer.status == 503:
                    retries[answer.json["type"]] += 1
                    time.sleep(0.02)
                    continue
                assert answer.status == 201, f"{key}: {answer}"
                if answer["Idempotency-Replayed"] == "true":
                    retries["replayed"] += 1
                with lock:
                    assert key not in acknowledged
                    acknowledged[key] = answer.json
                break

    chance = random.Random(SEED)
    kills = sorted(chance.sample(range(50, COMMANDS - 100), 4))
    recoveries = []

    def killer() -> None:
        for count in kills:
            while len(acknowledged) < count and not ended.is_set():
                time.sleep(0.001)
            time.sleep(chance.random() * 0.03)
            server.kill()
            killed = time.monotonic()
            server.start()
            recoveries.append(time.monotonic() - killed)

    started = time.monotonic()
    thread = threading.Thread(target=killer)
    thread.start()
    with Watch(server.port, APPS) as watch:
        try:
            in_threads(CLIENTS, client)
        finally:
            ended.set()
            thread.join()
    took = time.monotonic() - started
    print(
        f"\n{COMMANDS} commands in {took:.1f} s, {len(recoveries)} kills, ready again after "
        f"{', '.join(f'{seconds:.2f}' for seconds in recoveries)} s; retries: {dict(retries)}"
    )
    assert len(recoveries) == len(kills)
    assert len(acknowledged) == COMMANDS
    assert watch.falls == [], "no client ever sees a version fall"
    assert watch.fetched > 100

    check_ledger(server, acknowledged, prepared)
    server.restart()
    check_ledger(server, acknowledged, prepared)


def test_a_served_document_that_was_not_stored_is_served_again_after_a_kill_and_none_older(killed_server):
    server, api = killed_server, killed_server.api
    apps = [f"com.example.fall{number}" for number in range(6)]
    for app in apps:
        api.make_app(app, "api.example.com")
    for kill in range(3):
        # Documents are signed and served, and cannot be stored: this process alone has them.
        with server.locked("pinledger.document", "SHARE"):
            for app in apps:
                for number in range(5):
                    api.must("PATCH", f"/v1/apps/{app}", {"display_name": f"{kill} {number}"})
            newest = {app: api.payload(app)["version"] for app in apps}
            server.kill()
        with Watch(server.port, apps, newest) as watch:
            server.start()
            for app in apps:
                eventually(lambda: api.document(app).status == 200, f"the document of {app}")
            # The watch has a thread of its own: let it look at every served document before it ends.
            fetched = watch.fetched
            eventually(lambda: watch.fetched > fetched + len(apps) or watch.falls, "the watch fetches documents")
        assert watch.falls == []


def check_ledger(server: Server, acknowledged: dict[str, dict], prepared: int) -> None:
    position = server.api.position()
    history = server.api.history()
    assert [event["position"] for event in history] == list(range(len(history))), "positions are dense"
    assert len(history) >= position

    by_key = collections.defaultdict(list)
    versions = collections.Counter()
    for event in history:
        versions[event["stream"]] += 1
        assert event["stream_version"] == versions[event["stream"]], "stream versions are consecutive"
        if event["position"] >= prepared:
            # What the server records by itself has no key.
            if event["actor"]["kind"] != "system":
                by_key[event["idempotency_key"]].append(event)
    assert set(by_key) == set(acknowledged), "every command is there, and no other"
    for key, answer in acknowledged.items():
        # Once, whole, in one piece, and as it was answered.
        assert by_key[key] == answer["events"], key
        assert answer["position"] == by_key[key][-1]["position"] + 1
        assert answer["version"] == by_key[key][-1]["stream_version"]
    times = [event["time"] for event in history]
    assert times == sorted(times)

    key_set = server.api.request("GET", "/client/v1/jwks.json", token=None).json
    for app in APPS:
        payload = verify(server.api.document(app).body.decode(), key_set, app)
        assert payload["version"] == versions[f"app/{app}"] + versions["fleet"]
        published = {
            (host["host"], f"sha256/{pin['spki']}") for host in payload["hosts"] for pin in host["baseline"]["pins"]
        }
        active = {
            (event["data"]["host"], event["data"]["pin"])
            for event in history
            if event["stream"] == f"app/{app}" and event["type"] == "PinActivated"
        }
        assert published == active
