"""Processes are killed: the server, the database, both at once; and the server is told to stop."""

import json
import os
import signal
import socket
import threading
import time

from fronts import answers_before_commit
from load import Acknowledged, Writers, mixed_commands
from pinledger import API, host_body
from report import Experiment, Measurement, milliseconds
from stage import Stage

CLIENTS = 16
APPS = 20


def kill_points(stage: Stage, count: int, commands: int) -> list[int]:
    """At how many acknowledged commands to strike: at random, and early enough to matter."""
    return sorted(stage.random.sample(range(commands // 20, commands * 9 // 10), count))


def expect_answers(measurement: Measurement, writers: Writers) -> None:
    """What clients of a server in trouble may be told, and what not."""
    measurement.figures["answers"] = {str(status): count for status, count in sorted(writers.answers.items(), key=str)}
    measurement.expect("no 500", not any(s == 500 for s in writers.answers), f"{writers.answers[500]} times 500")
    measurement.expect("no refusal", not writers.wrong, "; ".join(writers.wrong[:3]))
    measurement.expect("Retry-After", not writers.bare_503, f"{writers.bare_503} times 503 without Retry-After")
    measurement.expect("all answered", not writers.given_up, f"{writers.given_up} commands were never acknowledged")


def kill_server(stage: Stage, is_broken: bool) -> Measurement:
    """F01: the server is killed; acknowledged changes survive."""
    measurement = Measurement()
    ledger = stage.ledger()
    node = stage.node(ledger)
    apps = stage.apps(node, APPS)
    previous = stage.before(ledger)
    count, kills = stage.size((700, 4), (10_000, 20))
    port = node.port
    if is_broken:
        count, kills = 500, 2
        front = answers_before_commit(lambda: node.port, node.api.token)
        stage.on_exit(front.close)
        port = front.port
    commands = mixed_commands(apps, CLIENTS, count, stage.seed)
    writers = Writers([lambda: port], node.api.token, stage.actor(node), commands)
    # Asks the node itself, often enough to see what it serves in the first moments after its start.
    fetcher = stage.fetcher(node.port, apps, rate=400)
    stage.on_exit(writers.stop)
    recoveries: list[float] = []
    started = time.monotonic()
    writers.start()
    for point in kill_points(stage, kills, count):
        writers.wait_for(point)
        time.sleep(stage.random.random() * 0.03)
        node.kill()
        recoveries.append(node.start())
    writers.join()
    took = time.monotonic() - started
    fetcher.stop()
    if is_broken:
        # Everything that was not lost is to arrive.
        front.drain()

    measurement.figures |= {
        "commands": count, "clients": CLIENTS, "kills": kills, "ready_again_seconds": recoveries, "seconds": took,
    }  # fmt: skip
    limit = 2 if stage.is_release else 6
    measurement.expect("ready again", max(recoveries) <= limit, f"after {max(recoveries):.2f} s, allowed {limit} s")
    expect_answers(measurement, writers)
    stage.invariants(measurement, ledger, node, writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{measurement.figures['twice']} twice; {kills} kills, ready again in ≤ {milliseconds(max(recoveries))}"
    )
    return measurement


def without_synchronous_commit(stage: Stage, ledger) -> None:
    """PostgreSQL acknowledges commits before they are on the disk, and writes them there slowly.

    The process that writes it there is held up besides: left alone it hands full pages to the kernel at once, which a
    SIGKILL does not take back, and only a handful of commands would be at stake.
    """
    ledger.execute(f'ALTER DATABASE "{ledger.name}" SET synchronous_commit = off')
    ledger.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
    ledger.execute("ALTER SYSTEM SET wal_writer_flush_after = '1GB'")
    ledger.execute("SELECT pg_reload_conf()")
    os.kill(ledger.value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"), signal.SIGSTOP)

    def restore() -> None:
        if ledger.cluster.is_running:
            # Also where it was never killed: its own walwriter is the one that is held up.
            ledger.cluster.kill()
        stage.ground.restore()
        ledger.cluster.execute("postgres", "ALTER SYSTEM RESET ALL")
        ledger.cluster.execute("postgres", "SELECT pg_reload_conf()")

    stage.on_exit(restore)


def kill_database(stage: Stage, is_broken: bool) -> Measurement:
    """F02: every process of PostgreSQL dies; the server lives on, serves documents, and writes again soon."""
    measurement = Measurement()
    ledger = stage.ledger()
    if is_broken:
        without_synchronous_commit(stage, ledger)
    node = stage.node(ledger)
    apps = stage.apps(node, APPS)
    if is_broken:
        # All that came before is to be safe, so that only what follows can be lost.
        ledger.execute("CHECKPOINT")
    previous = stage.before(ledger)
    process = node.pid
    kills = 1 if is_broken else stage.size(4, 20)
    # More than can be done in the time: the writers are stopped after the last kill.
    commands = mixed_commands(apps, CLIENTS, 200_000, stage.seed)
    patience = 5 if is_broken else 60
    writers = Writers([lambda: node.port], node.api.token, stage.actor(node), commands, patience=patience)
    fetcher = stage.fetcher(node.port, apps, rate=100)
    stage.on_exit(writers.stop)
    writers.start()
    recoveries, downs = [], []
    for _ in range(kills):
        writers.wait_for(writers.count + stage.random.randrange(100, 300))
        killed = time.monotonic()
        stage.cluster.kill()
        time.sleep(0.1 + stage.random.random() * stage.size(0.4, 1))
        accepting = stage.cluster.start()
        downs.append(accepting - killed)
        if is_broken:
            break
        again = writers.first_success_after(accepting, 20)
        recoveries.append(again if again is not None else 99)
    writers.stop()
    samples = fetcher.stop()

    measurement.figures |= {
        "kills": kills, "database_down_seconds": downs, "writes_again_seconds": recoveries,
        "fetches": len(samples.all), "fetches_failed": samples.failures, "fetch_p99": samples.p(0.99),
    }  # fmt: skip
    measurement.expect("server stays up", node.is_running and node.pid == process, node.tail()[-300:])
    measurement.expect("documents served", samples.failures == 0, f"{samples.failures} of {len(samples.all)} failed")
    if not is_broken:
        measurement.expect("reconnects", max(recoveries) <= 5, f"{max(recoveries):.2f} s after the database was back")
        measurement.expect("told so", writers.answers[503] > 0, "no write met the outage")
        expect_answers(measurement, writers)
    stage.invariants(measurement, ledger, None if is_broken else node, writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{measurement.figures['twice']} twice; {kills} kills, {samples.failures} of {len(samples.all)} fetches failed"
        + (f", writes again in ≤ {milliseconds(max(recoveries))}" if recoveries else "")
    )
    return measurement


def kill_both(stage: Stage, is_broken: bool) -> Measurement:
    """F01 and F02 together, at random."""
    measurement = Measurement()
    ledger = stage.ledger()
    if is_broken:
        without_synchronous_commit(stage, ledger)
    node = stage.node(ledger)
    apps = stage.apps(node, APPS)
    if is_broken:
        ledger.execute("CHECKPOINT")
    previous = stage.before(ledger)
    count, kills = stage.size((800, 3), (10_000, 10))
    if is_broken:
        count, kills = 600, 1
    commands = mixed_commands(apps, CLIENTS, count, stage.seed + 1)
    patience = 4 if is_broken else 120
    writers = Writers([lambda: node.port], node.api.token, stage.actor(node), commands, patience=patience)
    stage.on_exit(writers.stop)
    # The broken variant shows what the database loses; what happens to the server besides changes nothing about that.
    strikes = [] if is_broken else [(point, "server") for point in kill_points(stage, kills, count)]
    strikes += [(point, "database") for point in kill_points(stage, kills, count)]
    both = threading.Lock()

    def kill_server() -> None:
        node.kill()
        # Without its database it does not start; a supervisor would try again.
        while not ended.is_set():
            try:
                node.start(30)
                return
            except AssertionError:
                node.destroy()
                time.sleep(0.1)

    def kill_database() -> None:
        stage.cluster.kill()
        time.sleep(stage.random.random() * 0.5)
        stage.cluster.start()

    done = {"server": 0, "database": 0}

    def strike(what: str) -> None:
        for point in sorted(point for point, victim in strikes if victim == what):
            if not writers.wait_for(point) or ended.is_set():
                return
            time.sleep(0.03 * done[what] % 0.05)
            {"server": kill_server, "database": kill_database}[what]()
            with both:
                done[what] += 1

    ended = threading.Event()
    fetcher = stage.fetcher(node.port, apps, rate=400)
    writers.start()
    threads = [threading.Thread(target=strike, args=(what,), daemon=True) for what in done]
    for thread in threads:
        thread.start()
    try:
        if is_broken:
            # The server halts before a ledger that has shrunk, and nothing more is acknowledged.
            for thread in threads:
                thread.join(120)
            writers.stop()
        else:
            writers.join()
    finally:
        ended.set()
        for thread in threads:
            thread.join(60)
    fetcher.stop()
    measurement.figures |= {"commands": count, "kills": dict(done)}
    if not is_broken:
        measurement.expect("kills", done == {"server": kills, "database": kills}, f"{done}")
        expect_answers(measurement, writers)
    stage.invariants(measurement, ledger, None if is_broken else node, writers.acknowledged, previous)
    measurement.headline = (
        f"{len(writers.acknowledged)} acknowledged, {measurement.figures['lost']} lost, "
        f"{measurement.figures['twice']} twice; server killed {done['server']}×, database {done['database']}×"
    )
    return measurement


def drain(stage: Stage, is_broken: bool) -> Measurement:
    """F03: of two nodes behind a balancer that looks at /readyz, one is stopped, and no client notices."""
    measurement = Measurement()
    ledger = stage.ledger()
    options = ["--drain-delay", "3", "--drain-timeout", "10"]
    nodes = [stage.node(ledger, *options), stage.node(ledger, *options)]
    leaving, staying = nodes
    apps = stage.apps(leaving, 4)
    staying.wait_for_position(leaving.position())
    staying.wait_for_documents(apps)
    previous = stage.before(ledger)
    ready = {node.port: True for node in nodes}
    readiness: list[tuple[float, int, str]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            for node in nodes:
                try:
                    answer = node.api.get("/readyz")
                    status, text = answer.status, answer.json["status"]
                except Exception as error:
                    status, text = 0, type(error).__name__
                ready[node.port] = status == 200
                if node is leaving:
                    readiness.append((time.monotonic(), status, text))
            time.sleep(0.1)

    turn = [0]

    def choose() -> int | None:
        turn[0] += 1
        candidates = [port for port, is_ready in ready.items() if is_ready]
        return candidates[turn[0] % len(candidates)] if candidates else None

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    stage.on_exit(ended.set)
    balancer = stage.proxy(choose)

    # Each request over a connection of its own, as a balancer in front of a draining server would do it.
    errors: list[str] = []
    acknowledged = []
    lock = threading.Lock()
    stopping = threading.Event()
    counts = {"fetches": 0, "writes": 0}

    def client(number: int) -> None:
        api = API(balancer.port, leaving.api.token)
        turn = 0
        while not stopping.is_set():
            turn += 1
            try:
                if number % 2:
                    answer = api.document(apps[turn % len(apps)])
                    with lock:
                        counts["fetches"] += 1
                else:
                    key = f"drain {number} {turn}"
                    answer = api.request(
                        "PATCH", f"/v1/apps/{apps[turn % len(apps)]}", {"display_name": key}, {"Idempotency-Key": key}
                    )
                    if answer.status == 200:
                        with lock:
                            counts["writes"] += 1
                            acknowledged.append(
                                Acknowledged(key, actor, int(answer["Pinledger-Position"]), 200, answer.body)
                            )  # fmt: skip
                if answer.status != 200:
                    raise ValueError(str(answer))
            except Exception as error:
                with lock:
                    errors.append(f"{type(error).__name__}: {error}")
            time.sleep(0.005)

    actor = stage.actor(leaving)
    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    stage.on_exit(stopping.set)
    time.sleep(stage.size(1, 3))

    # A request that is under way: half of its body is sent before, half after.
    body = json.dumps(host_body("in-flight.example.com")).encode()
    head = (
        f"POST /v1/apps/{apps[0]}/hosts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {leaving.api.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    in_flight = socket.create_connection(("127.0.0.1", leaving.port), timeout=15)
    stage.on_exit(in_flight.close)
    in_flight.sendall(head + body[: len(body) // 2])
    time.sleep(0.2)
    told = time.monotonic()
    process = leaving.process
    assert process is not None
    if is_broken:
        process.kill()
    else:
        leaving.terminate()
    time.sleep(0.5)
    try:
        in_flight.sendall(body[len(body) // 2 :])
        first_line = in_flight.recv(65536).split(b"\r\n")[0].decode()
    except OSError as error:
        first_line = type(error).__name__
    try:
        code = process.wait(timeout=25)
    except Exception:
        code = None
    took = time.monotonic() - told
    leaving.process = None
    time.sleep(stage.size(0.5, 2))
    stopping.set()
    ended.set()
    for thread in [*threads, looking]:
        thread.join(30)
    after = [(status, text) for moment, status, text in readiness if moment > told]
    measurement.figures |= {
        **counts, "errors": len(errors), "first_errors": errors[:5], "exit": code, "exit_seconds": took,
        "in_flight": first_line, "readiness": after[:20],
    }  # fmt: skip
    measurement.expect("no errors", not errors, f"{len(errors)} errors, such as {errors[:2]}")
    measurement.expect("exit", code == 0, f"exit {code}")
    measurement.expect("in time", took <= 12, f"ended after {took:.1f} s")
    measurement.expect("in flight", " 201" in first_line, f"the request under way got {first_line}")
    measurement.expect("draining", (503, "draining") in after, f"/readyz said {after[:5]}")
    stage.invariants(measurement, ledger, staying, acknowledged, previous)
    measurement.headline = (
        f"{sum(counts.values())} requests, {len(errors)} errors; the one under way: {first_line}; "
        f"exit {code} after {milliseconds(took)}"
    )
    return measurement


EXPERIMENTS = [
    Experiment(
        "F01", "SIGKILL of the server under 16 clients that repeat with the same key",
        "a front answers before the commit", {"lost"}, kill_server,
    ),
    Experiment(
        "F02", "SIGKILL of all PostgreSQL processes under 16 clients, documents fetched meanwhile",
        "synchronous_commit = off", {"lost"}, kill_database,
    ),
    Experiment(
        "F01+F02", "SIGKILL of server and PostgreSQL, each at random", "synchronous_commit = off", {"lost"}, kill_both,
    ),
    Experiment(
        "F03", "SIGTERM of one of two nodes behind a balancer that looks at /readyz",
        "SIGKILL instead: nothing is drained", {"no errors"}, drain, needs=("--drain-delay",),
    ),
]  # fmt: skip
