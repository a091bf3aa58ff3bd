"""Connections break and stall: between server and database, and between client and server."""

import threading
import time

from load import Client, Samples, Writers, token_commands
from proxy import DOWN, UP
from report import Experiment, Measurement, milliseconds, percentile
from stage import Stage

# MARK: F08

def cut_connections(stage: Stage, is_broken: bool) -> Measurement:
    """F08: connections are cut everywhere in the append, and on the way of the answer; each command takes effect once."""
    measurement = Measurement()
    ledger = stage.ledger()
    to_database = stage.database_proxy()
    node = stage.node(ledger, database_port=to_database.port)
    apps = stage.apps(node, 4)
    to_server = stage.proxy(node.port)
    previous = stage.before(ledger)
    cuts = 60 if is_broken else stage.size(70, 500)
    clients = 4
    commands = token_commands(clients, 400_000)
    actor = stage.actor(node)
    writers = Writers([lambda: to_server.port], node.api.token, actor, commands, is_keyed=not is_broken)
    stage.on_exit(writers.stop)
    fetcher = stage.fetcher(node.port, apps, rate=50)
    kinds = {"database, up": 0, "database, down": 0, "terminated": 0, "client, up": 0, "client, down": 0}
    resumed: list[float] = []
    missed = 0
    superuser = ledger.connect()
    stage.on_exit(superuser.close)
    writers.start()
    for _ in range(cuts):
        # Without keys only a lost answer can do harm: the server itself finds out what became of a batch.
        share = 1 if is_broken else stage.random.random()
        if share < 0.3:
            kind, proxy, direction, count = "database, up", to_database, UP, stage.random.randrange(1, 4000)
        elif share < 0.6:
            kind, proxy, direction, count = "database, down", to_database, DOWN, stage.random.randrange(1, 300)
        elif share < 0.75:
            kind, proxy, direction, count = "terminated", None, None, 0
        elif share < 0.85:
            kind, proxy, direction, count = "client, up", to_server, UP, stage.random.randrange(1, 800)
        else:
            kind, proxy, direction, count = "client, down", to_server, DOWN, stage.random.randrange(1, 500)
        if proxy is None:
            time.sleep(stage.random.random() * 0.02)
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        else:
            proxy.cut_after(direction, count)
            if not proxy.wait_for_cut(60):
                missed += 1
                proxy.heal()
                continue
        kinds[kind] += 1
        again = writers.first_success_after(time.monotonic(), 90)
        resumed.append(99 if again is None else again)
    writers.stop()
    samples = fetcher.stop()

    names = ledger.execute(
        "SELECT convert_from(entry, 'UTF8')::json -> 'data' ->> 'name', count(*) FROM pinledger.event"
        " WHERE type = 'TokenIssued' AND convert_from(entry, 'UTF8')::json -> 'data' ->> 'name' LIKE 'client %%'"
        " GROUP BY 1 HAVING count(*) > 1"
    )
    measurement.figures |= {
        "cuts": kinds, "cuts_missed": missed, "commands_twice": len(names), "fetches": len(samples.all),
        "fetches_failed": samples.failures, "writes_again_seconds_max": max(resumed, default=0),
    }  # fmt: skip
    measurement.expect("once", not names, f"{len(names)} commands took effect more than once, such as {names[:2]}")
    measurement.expect("cuts", sum(kinds.values()) >= cuts * 0.95, f"{kinds}, {missed} missed")
    measurement.expect("goes on", max(resumed) <= 60, f"the next write succeeded after {max(resumed):.1f} s")
    measurement.expect("documents served", samples.failures == 0, f"{samples.failures} of {len(samples.all)} failed")
    expect_no_500(measurement, writers)
    stage.invariants(measurement, ledger, node, writers.acknowledged, previous)
    measurement.headline = (
        f"{sum(kinds.values())} cuts, {len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{len(names)} twice; next write in ≤ {milliseconds(max(resumed))}"
    )
    return measurement


def expect_no_500(measurement: Measurement, writers: Writers) -> None:
    measurement.figures["answers"] = {str(status): count for status, count in writers.answers.items()}
    measurement.expect("no 500", not writers.wrong, "; ".join(writers.wrong[:3]))
    measurement.expect("Retry-After", not writers.bare_503, f"{writers.bare_503} times 503 without Retry-After")


# MARK: F09

#: How long an answer may take at the worst: the default of --database-timeout, 5 s, which the server looks after every
#: 0.25 s; the rest is for clients and servers that share the cores.
LONGEST_WAIT = 6.0


class Asker:
    """A client that writes all the time and never waits longer than `patience` for an answer."""

    def __init__(self, port: int, token: str, app: str, number: int, patience: float):
        self.client = Client(lambda: port, token, seconds=patience)
        self.app, self.number, self.patience = app, number, patience
        #: (when sent, seconds until the answer, status; 0 where there was none in time)
        self.samples: list[tuple[float, float, int]] = []
        self.without_retry_after = 0
        self.types: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Asker":
        self._thread.start()
        return self

    def _run(self) -> None:
        turn = 0
        while not self._stop.is_set():
            turn += 1
            sent = time.monotonic()
            try:
                answer = self.client.request(
                    "PATCH", f"/v1/apps/{self.app}", {"display_name": f"{self.number} {turn}"}
                )  # fmt: skip
                status = answer.status
                if status == 503:
                    self.types.add(answer.json["type"])
                    self.without_retry_after += answer["Retry-After"] is None
            except OSError:
                status = 0
            except Exception:
                status = -1
            self.samples.append((sent, time.monotonic() - sent, status))
            self._stop.wait(0.2 if status == 200 else 0.05)

    def stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self.stop()
        self._thread.join(self.patience + 5)
        self.client.close()


def slow_database(stage: Stage, is_broken: bool) -> Measurement:
    """F09: the database takes its time, or does not answer at all; clients with documents to fetch notice nothing."""
    measurement = Measurement()
    ledger = stage.ledger()
    proxy = stage.database_proxy()
    options = ["--database-timeout", "3600"] if is_broken else []
    node = stage.node(ledger, *options, database_port=proxy.port)
    apps = stage.apps(node, 4)
    previous = stage.before(ledger)
    baseline_seconds = stage.size(2, 10)
    phases = [("stall", stage.size(8, 20), {"is_stalled": True})]
    if not is_broken:
        phases = [
            ("+200 ms", stage.size(2, 15), {"latency": 0.1}), ("+2 s", stage.size(5, 20), {"latency": 1}), *phases,
        ]  # fmt: skip
    fetcher = stage.fetcher(node.port, apps, rate=200)
    limit = LONGEST_WAIT
    askers = [Asker(node.port, node.api.token, apps[n % 4], n, limit + 2).start() for n in range(8)]
    stage.on_exit(lambda: [asker.stop() for asker in askers])
    windows: dict[str, tuple[float, float]] = {}
    recovered: dict[str, float] = {}
    started = time.monotonic()
    time.sleep(baseline_seconds)
    windows["baseline"] = (started + 0.5, time.monotonic())
    for name, seconds, faults in phases:
        proxy.set(**faults)
        begun = time.monotonic()
        time.sleep(seconds)
        windows[name] = (begun, time.monotonic())
        proxy.heal()
        healed = time.monotonic()
        # Sent after it healed, and answered as if nothing had been.
        while time.monotonic() < healed + 12:
            good = [
                sent + took for asker in askers for sent, took, status in list(asker.samples)
                if status == 200 and sent + took > healed
            ]  # fmt: skip
            if good:
                break
            time.sleep(0.05)
        recovered[name] = min(good, default=healed + 99) - healed
        time.sleep(0.5)
    for asker in askers:
        asker.stop()
    for asker in askers:
        asker.join()
    samples = fetcher.stop()

    base = samples.between(*windows["baseline"]).p(0.99)
    # The two cores are shared with those who ask: below this no difference can be told from noise.
    allowed = max(2 * base, 0.05)
    for name, window in windows.items():
        part: Samples = samples.between(*window)
        waits = [
            (took, status) for asker in askers for sent, took, status in asker.samples if window[0] <= sent < window[1]
        ]
        figures = {
            "fetches": len(part.all), "fetches_failed": part.failures, "fetch_p99": part.p(0.99),
            "writes": len(waits), "write_p99": percentile((took for took, _ in waits), 0.99),
            "statuses": {str(s): sum(status == s for _, status in waits) for s in {status for _, status in waits}},
            "recovered_after": recovered.get(name),
        }  # fmt: skip
        measurement.figures[name] = figures
        measurement.expect(f"documents at {name}", part.failures == 0, f"{part.failures} fetches failed")
        if name == "baseline":
            continue
        measurement.expect("fetch p99", part.p(0.99) <= allowed, f"{name}: {milliseconds(part.p(0.99))}")
        slowest = max((took for took, _ in waits), default=0)
        measurement.expect("bounded", slowest <= limit, f"{name}: a write waited {slowest:.1f} s")
        measurement.expect("answered", not any(s <= 0 for _, s in waits), f"{name}: writes without an answer")
        wrong = {status for _, status in waits} - {200, 503, 0, -1}
        measurement.expect("200 or 503", not wrong, f"{name}: {wrong}")
        measurement.expect("recovers", recovered[name] <= 5, f"{name}: after {recovered[name]:.1f} s")
    bare = sum(asker.without_retry_after for asker in askers)
    measurement.expect("Retry-After", bare == 0, f"{bare} times 503 without Retry-After")
    stage.invariants(measurement, ledger, node, (), previous)
    writes = {name: measurement.figures[name]["write_p99"] for name in windows}
    measurement.headline = (
        f"fetch p99 {milliseconds(base)}, stalled {milliseconds(measurement.figures['stall']['fetch_p99'])}; "
        + "write p99 " + ", ".join(f"{name} {milliseconds(p99)}" for name, p99 in writes.items())
    )  # fmt: skip
    return measurement


# MARK: F10

def too_many_writers(stage: Stage, is_broken: bool) -> Measurement:
    """F10: 200 writers at once on a database that is slow, then stalled."""
    measurement = Measurement()
    ledger = stage.ledger()
    proxy = stage.database_proxy()
    queue = "1000000000" if is_broken else "50"
    options = ["--write-queue", queue] + (["--database-timeout", "3600"] if is_broken else [])
    node = stage.node(ledger, *options, database_port=proxy.port)
    apps = stage.apps(node, 4)
    previous = stage.before(ledger)
    limit = LONGEST_WAIT
    count = 200
    askers = [Asker(node.port, node.api.token, apps[n % 4], n, limit + 3) for n in range(count)]
    stage.on_exit(lambda: [asker.stop() for asker in askers])
    windows: dict[str, tuple[float, float]] = {}
    proxy.set(latency=0.05)
    if is_broken:
        proxy.set(is_stalled=True)
    started = time.monotonic()
    for asker in askers:
        asker.start()
    for name, seconds, stalled in [("slow", stage.size(6, 20), False), ("stalled", stage.size(8, 20), True)]:
        if is_broken and not stalled:
            continue
        proxy.set(is_stalled=stalled)
        begun = time.monotonic() if windows else started
        time.sleep(seconds)
        windows[name] = (begun, time.monotonic())
    proxy.heal()
    healed = time.monotonic()
    time.sleep(stage.size(3, 6))
    for asker in askers:
        asker.stop()
    for asker in askers:
        asker.join()
    after = [(sent, status) for asker in askers for sent, _, status in asker.samples if sent > healed]
    served = {
        name: sum(any(s == 200 for sent, _, s in asker.samples if start <= sent < end) for asker in askers)
        for name, (start, end) in windows.items()
    }
    for name, (start, end) in windows.items():
        waits = [(took, status) for asker in askers for sent, took, status in asker.samples if start <= sent < end]
        measurement.figures[name] = {
            "requests": len(waits), "longest": max((took for took, _ in waits), default=0),
            "statuses": {str(s): sum(status == s for _, status in waits) for s in {status for _, status in waits}},
            "writers_served": served[name],
        }  # fmt: skip
        slowest = max((took for took, _ in waits), default=99)
        measurement.expect("bounded", slowest <= limit, f"{name}: a write waited {slowest:.1f} s")
        wrong = {status for _, status in waits} - {200, 503}
        measurement.expect("200 or 503", not wrong, f"{name}: {wrong}")
    if not is_broken:
        # Fair: every client gets its turn.
        measurement.expect("fair", served["slow"] == count, f"{served['slow']} of {count} writers got through")
        types = set().union(*(asker.types for asker in askers))
        measurement.expect("overloaded", "/problems/overloaded" in types, f"only {types}")
    bare = sum(asker.without_retry_after for asker in askers)
    measurement.expect("Retry-After", bare == 0, f"{bare} times 503 without Retry-After")
    good = [sent for sent, status in after if status == 200]
    recovered = min(good, default=healed + 99) - healed
    measurement.figures["recovered_after"] = recovered
    measurement.expect("recovers", recovered <= 5, f"after {recovered:.1f} s")
    stage.invariants(measurement, ledger, node, (), previous)
    longest = {name: measurement.figures[name]["longest"] for name in windows}
    measurement.headline = (
        "longest wait " + ", ".join(f"{name} {milliseconds(wait)}" for name, wait in longest.items())
        + (f"; {served['slow']} of {count} writers served while slow" if not is_broken else "")
    )  # fmt: skip
    return measurement


EXPERIMENTS = [
    Experiment(
        "F08", "connections to the database and to clients cut all over the append", "clients repeat without a key",
        {"once"}, cut_connections,
    ),
    Experiment(
        "F09", "database slow by 0.2 s and 2 s, then stalled", "--database-timeout 3600", {"bounded", "answered"},
        slow_database, needs=("--database-timeout",),
    ),
    Experiment(
        "F10", "200 writers on a slow, then stalled database, --write-queue 50",
        "--write-queue 1000000000, no timeout", {"bounded", "200 or 503"}, too_many_writers,
        needs=("--write-queue", "--database-timeout"),
    ),
]  # fmt: skip
