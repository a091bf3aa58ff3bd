"""Patroni's cluster of three machines: a partition, a pause, etcd without a majority, and standbys that are lost."""

import collections
import threading
import time

import psycopg
from machines import Machines
from report import Experiment, Measurement, milliseconds
from scene import Scene
from stage import Stage

#: Writes have to succeed again so soon after a promotion.
AGAIN = 30


def expect_again(measurement: Measurement, seconds: list[float]) -> None:
    measurement.figures["writes_again_seconds"] = seconds
    measurement.expect("writes again", max(seconds) <= AGAIN, f"{max(seconds):.1f} s after the promotion")


# MARK: F34

def partition(stage: Stage, is_broken: bool) -> Measurement:
    """F34: the primary's machine is cut off from the two others, and nodes still reach all three."""
    scene = Scene(stage, is_synchronous=not is_broken)
    machines, measurement = scene.machines, scene.measurement
    scene.warm_up()
    again, took, demoted = [], [], []
    rounds = 1 if is_broken else stage.size(1, 3)
    for number in range(rounds):
        former = machines.wait_for_primary()[0]
        # A node that knows no other machine: the former primary's side of the partition.
        beside = scene.add_node(machines.port(former))
        scene.write([beside], 2, f"beside {number} ")
        scene.warm_up(100)
        cut = time.monotonic()
        gone = Demotion(scene, former)
        machines.switchboard.isolate(former)
        promoted, moment = machines.wait_for_primary(other_than=former)
        took.append(moment - cut)
        again.append(scene.writes_again(moment))
        time.sleep(stage.size(5, 30))
        demoted.append((gone.stop() or 99) - cut)
        machines.switchboard.heal()
        machines.wait_until_whole()
        if not is_broken:
            scene.warm_up(100)
            scene.writers[-1].stop()
            beside.destroy()
    scene.finish(is_broken=is_broken)
    measurement.figures |= {"promoted_after_seconds": took, "demoted_after_seconds": demoted}
    if not is_broken:
        expect_again(measurement, again)
    measurement.headline = scene.headline + (
        f"{rounds} partitions, the former primary down after ≤ {milliseconds(max(demoted))}, another promoted after "
        f"≤ {milliseconds(max(took))}, writes again in ≤ {milliseconds(max(again))}"
    )
    return measurement


class Demotion:
    """Looks until a primary takes no more changes."""

    def __init__(self, scene: Scene, machine: str):
        self._moment: float | None = None
        self._stopping = threading.Event()

        def look() -> None:
            while not self._stopping.is_set():
                if scene.machines.value_on(machine, "SELECT pg_is_in_recovery()") is not False:
                    self._moment = time.monotonic()
                    return
                time.sleep(0.2)

        self._thread = threading.Thread(target=look, daemon=True)
        self._thread.start()
        scene.stage.on_exit(self._stopping.set)

    def stop(self) -> float | None:
        self._stopping.set()
        self._thread.join(30)
        return self._moment


# MARK: F35

def pause(stage: Stage, is_broken: bool) -> Measurement:
    """F35: every process of the primary's machine stands still for longer than the lease, and goes on."""
    scene = Scene(stage, is_synchronous=not is_broken)
    machines, measurement = scene.machines, scene.measurement
    scene.warm_up()
    again, took, wrong = [], [], []
    rounds = 1 if is_broken else stage.size(1, 2)
    for _ in range(rounds):
        former = machines.wait_for_primary()[0]
        if is_broken:
            # The standbys miss what a synchronous primary would not have confirmed.
            machines.switchboard.block((None, former, "postgres"))
            scene.warm_up(50)
        stopped = time.monotonic()
        machines.pause(former)
        promoted, moment = machines.wait_for_primary(other_than=former)
        took.append(moment - stopped)
        again.append(scene.writes_again(moment))
        time.sleep(max(0, stopped + stage.size(28, 60) - time.monotonic()))
        machines.switchboard.heal()
        machines.resume(former)
        # From its first moment on it must not confirm anything: a client beside it, with a session of its own.
        wrong += confirmed_by(machines, former, 5)
        machines.wait_until_whole()
        if not is_broken:
            scene.warm_up(100)
    scene.finish(is_broken=is_broken)
    measurement.figures |= {"promoted_after_seconds": took}
    if not is_broken:
        expect_again(measurement, again)
        measurement.expect("former primary", not wrong, f"it confirmed {len(wrong)} transactions after the pause")
    measurement.headline = scene.headline + (
        f"{rounds} pauses of {stage.size(28, 60)} s, another promoted after ≤ {milliseconds(max(took))}, writes "
        f"again in ≤ {milliseconds(max(again))}, the former primary confirmed {len(wrong)} transactions afterwards"
    )
    return measurement


def confirmed_by(machines: Machines, machine: str, seconds: float) -> list[int]:
    """The transactions that a machine confirms, asked again and again."""
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with machines.connect("postgres", machine=machine) as connection:
                connection.execute("SET statement_timeout = '500ms'")
                connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
                notices: list = []
                # A row of a catalogue: what it writes goes to the standbys as any change does.
                connection.execute("COMMENT ON DATABASE template1 IS 'a change'")
                if not notices:
                    found.append(connection.info.backend_pid)
        except psycopg.Error:
            pass
        time.sleep(0.05)
    return found


# MARK: F36

def lose_etcd(stage: Stage, is_broken: bool) -> Measurement:
    """F36: two of three etcd members are killed; the primary goes on while it reaches both standbys."""
    scene = Scene(stage, failsafe_mode="false" if is_broken else "true")
    machines, measurement = scene.machines, scene.measurement
    scene.warm_up()
    primary = machines.wait_for_primary()[0]
    timeline = machines.value_on(primary, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")
    started = time.monotonic()
    for machine in stage.random.sample(machines.names, 2):
        machines.kill(machine, "etcd")
    time.sleep(stage.size(35, 120))
    ended = time.monotonic()
    stood = scene.longest_pause(started, ended)
    meanwhile = scene.acknowledged_between(started, ended)
    stops: dict = {}
    if not is_broken and not stage.is_short:
        stops = without_a_member(scene, primary)
    machines.start_again()
    back = machines.wait_for_primary()[1]
    again = scene.writes_again(back)
    machines.wait_until_whole()
    now = machines.wait_for_primary()[0]
    if not is_broken:
        scene.warm_up(100)
    measurement.figures |= {"longest_pause_seconds": stood, "acknowledged_meanwhile": meanwhile} | stops
    measurement.expect("writes go on", stood <= 10, f"none for {stood:.1f} s")
    if not stops:
        same = timeline == machines.value_on(now, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")
        measurement.expect("same primary", is_broken or (same and now == primary), f"{now} after {primary}")
    else:
        measurement.expect("member lost too", stops["confirmed_after_demotion"] == 0, f"{stops}")
    scene.finish(is_broken=is_broken)
    if not is_broken:
        expect_again(measurement, [again])
    measurement.headline = scene.headline + (
        f"{stage.size(35, 120)} s without a majority of etcd, {meanwhile} of them meanwhile, longest pause "
        + milliseconds(stood)
        + (f"; a member cut off too: primary down after {milliseconds(stops['demoted_after_seconds'])}" if stops else "")
    )
    return measurement


def without_a_member(scene: Scene, primary: str) -> dict:
    """A standby is cut off while etcd is away: the primary cannot know whether that one is promoted, and gives way."""
    other = next(name for name in scene.machines.names if name != primary)
    cut = time.monotonic()
    gone = Demotion(scene, primary)
    scene.machines.switchboard.isolate(other)
    time.sleep(40)
    demoted = gone.stop()
    confirmed = scene.acknowledged_between(demoted + 1, time.monotonic()) if demoted else -1
    scene.machines.switchboard.heal()
    return {"demoted_after_seconds": (demoted or 99) - cut, "confirmed_after_demotion": confirmed}


# MARK: F37

def lose_standbys(stage: Stage, is_broken: bool) -> Measurement:
    """F37: one standby is lost, then both; waits for them are cancelled, backends terminated, until both are back."""
    scene = Scene(stage, requires=not is_broken)
    measurement = scene.measurement
    if is_broken:
        commit_locally(scene)
    scene.warm_up()
    one = None if is_broken else lose_one(scene)
    both = lose_both(scene, is_broken=is_broken)
    ended = both["ended"]
    measurement.figures |= {"one_lost": one, "both_lost": both}
    measurement.expect("no false success", not both["acknowledged"], f"{both['acknowledged']} without a standby")
    if one is not None:
        measurement.expect("one standby lost", one <= AGAIN, f"writes again after {one:.1f} s")
        measurement.expect("waits met", min(ended.values()) > 0, f"{dict(ended)}")
        measurement.expect("both back", both["again"] <= AGAIN, f"writes again after {both['again']:.1f} s")
    scene.finish(is_broken=is_broken)
    measurement.headline = scene.headline + f"{both['acknowledged']} while both standbys were lost"
    if one is not None:
        measurement.headline += (
            f", {ended['cancelled']} waits cancelled, {ended['terminated']} backends terminated; writes again "
            f"{one:.0f} s after one was lost, {both['again']:.1f} s after both came back"
        )
    return measurement


def lose_primary_too(stage: Stage, is_broken: bool) -> Measurement:
    """F37-failover: the same, and the primary dies with the changes whose waits were cancelled."""
    scene = Scene(stage, requires=not is_broken)
    machines, measurement = scene.machines, scene.measurement
    if is_broken:
        commit_locally(scene)
    scene.warm_up()
    again, total = [], collections.Counter()
    false = 0
    rounds = 1 if is_broken else stage.size(1, 4)
    for _ in range(rounds):
        former = machines.roles()[0]
        # No link for replication to the primary, from anywhere; everything else goes on.
        machines.switchboard.block((None, former, "postgres"))
        cut = time.monotonic()
        total += disturb(scene, former, 6)
        # Before Patroni has noticed that the standby is gone, which it would not promote any more from then on.
        machines.kill(former, "patroni", "postgres")
        killed = time.monotonic()
        machines.switchboard.heal()
        # The requests under way when the link went were confirmed by the standby before.
        false += scene.acknowledged_between(cut + 0.5, killed)
        _, moment = machines.wait_for_primary(other_than=former)
        again.append(0 if is_broken else scene.writes_again(moment))
        machines.start_again()
        machines.wait_until_whole()
        if not is_broken:
            scene.warm_up(100)
    measurement.figures |= {"ended_waits": dict(total), "acknowledged_without_standby": false}
    measurement.expect("no false success", not false, f"{false} acknowledged while no standby had them")
    if not is_broken:
        measurement.expect("waits met", min(total["cancelled"], total["terminated"]) > 0, f"{dict(total)}")
        expect_again(measurement, again)
    scene.finish(is_broken=is_broken)
    measurement.headline = scene.headline + (
        f"{false} while no standby had them, {total['cancelled']} waits cancelled, {total['terminated']} backends "
        "terminated" + ("" if is_broken else f"; {rounds} failovers, writes again in ≤ {milliseconds(max(again))}")
    )
    return measurement


def commit_locally(scene: Scene) -> None:
    """Commits wait for no standby, although the server's own settings say so, and nodes do not ask."""
    execute = scene.machines.execute
    execute("postgres", "ALTER ROLE pinledger SET synchronous_commit = local")
    # A setting of a role is that of its next connections.
    execute("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pinledger'")


def lose_one(scene: Scene) -> float:
    """The synchronous standby stands still; after how many seconds writes succeed with the other one."""
    machines = scene.machines
    _, synchronous, _ = machines.roles()
    assert synchronous is not None
    started = time.monotonic()
    machines.pause(synchronous, "patroni", "postgres")
    # A batch whose confirmation was under way is no success without it.
    again = scene.writes_again(started + 1) + 1
    time.sleep(scene.stage.size(2, 20))
    machines.resume(synchronous)
    machines.wait_until_whole()
    scene.warm_up(100)
    return again


def lose_both(scene: Scene, *, is_broken: bool) -> dict:
    """No standby for longer than Patroni needs to notice: the primary waits, and acknowledges nothing alone."""
    machines = scene.machines
    primary = machines.roles()[0]
    machines.switchboard.block((None, primary, "postgres"))
    started = time.monotonic()
    ended = disturb(scene, primary, scene.stage.size(20, 60))
    acknowledged = scene.acknowledged_between(started + 0.5, time.monotonic())
    machines.switchboard.heal()
    again = 0 if is_broken else scene.writes_again(time.monotonic())
    machines.wait_until_whole()
    scene.warm_up(0 if is_broken else 100)
    return {"acknowledged": acknowledged, "ended": ended, "again": again}


def disturb(scene: Scene, machine: str, seconds: float) -> collections.Counter:
    """Cancels and terminates, in turn, what waits for a synchronous standby."""
    ended: collections.Counter = collections.Counter(cancelled=0, terminated=0)
    deadline = time.monotonic() + seconds
    with scene.machines.connect("postgres", machine=machine) as connection:
        turn = 0
        while time.monotonic() < deadline:
            name, function = (("cancelled", "pg_cancel_backend"), ("terminated", "pg_terminate_backend"))[turn // 2 % 2]
            found = connection.execute(
                f"SELECT {function}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'pinledger'"
            ).fetchall()
            if found:
                ended[name] += len(found)
                turn += 1
            time.sleep(0.2)
    return ended


EXPERIMENTS = [
    Experiment(
        "F34", "Patroni's primary is cut off from etcd and the other members, while nodes still reach it",
        "asynchronous replication", {"lost"}, partition, needs=("--require-synchronous",),
    ),
    Experiment(
        "F35", "all processes of the primary's machine are paused for longer than Patroni's lease, and go on",
        "asynchronous replication that lags", {"lost"}, pause, needs=("--require-synchronous",),
    ),
    Experiment(
        "F36", "etcd loses its majority; the primary reaches its standbys",
        "no failsafe mode", {"writes go on"}, lose_etcd, met_by={"lost", "twice"}, needs=("--require-synchronous",),
    ),
    Experiment(
        "F37", "synchronous standbys are lost, waits for them are cancelled, backends terminated",
        "synchronous_commit = local for the nodes' role", {"no false success"}, lose_standbys,
        needs=("--require-synchronous",),
    ),
    Experiment(
        "F37-failover", "the same, and the primary is killed: what was only there is gone",
        "synchronous_commit = local for the nodes' role", {"lost"}, lose_primary_too, needs=("--require-synchronous",),
    ),
]  # fmt: skip
