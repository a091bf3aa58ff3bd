"""Three regions: what distance costs, and what the loss of one, two, or the way to one does."""

import time

from load import Command
from patroni import commit_locally
from regions import Region, Regions, Switch
from report import Experiment, Measurement, milliseconds, percentile
from stage import Stage
from wide_area import Link

#: How long a promotion or a change of the standby may take at most before writes succeed again: what never comes is to be seen.
AGAIN = 150


def links(*round_trips: float, loss: float = 0.0, rate: float = 0.0) -> tuple[Link, Link, Link]:
    """By their round trips, in milliseconds: primary and standby, primary and third region, standby and third region."""
    one, two, three = (Link(each / 2000, loss, rate) for each in round_trips)
    return one, two, three


#: Regions of one country, and of several continents, on a line that is lossy and not too fast.
NEAR = links(15, 40, 40)
WIDE = links(80, 200, 150, loss=0.0005, rate=200e6)


# MARK: F50

def distance(stage: Stage, is_broken: bool) -> Measurement:
    """F50: changes one by one and many at once, at the primary's region and from another one, by round trip."""
    scene = Regions(stage, requires=not is_broken)
    measurement = scene.measurement
    if is_broken:
        commit_locally(scene)
    told, late = [], []
    alone, many = (15, 200) if is_broken else stage.size((30, 400), (100, 2000))
    for name, between in (("0", links(0, 0, 0)), ("15/40/40", NEAR), ("80/200/150", WIDE)):
        home, near, far = scene.place(between)
        trip = between[0].delay * 2
        figures: dict = {}
        for what, places, least in (("home", [home], trip), ("near", [near], 2 * trip), ("both", [home, near], trip)):
            one, _ = append(scene, places, 1, alone)
            before = scene.ledger.position()
            times, rate = append(scene, places, 32, many)
            # The events of one batch have one time.
            largest = scene.ledger.value(
                "SELECT max(count) FROM (SELECT count(*) FROM pinledger.event WHERE position >= %s GROUP BY recorded_at) b",
                before,
            )
            figures[what] = {
                "alone_ms": percentile(one, 0.5) * 1000, "alone_least_ms": min(one) * 1000,
                "of_32_ms": percentile(times, 0.5) * 1000, "of_32_per_second": rate,
                "largest_batch": largest,
            }  # fmt: skip
            if min(one) < least:
                late.append(f"{name}, {what}: acknowledged after {milliseconds(min(one))}")
            measurement.expect("batches", largest > 1 or not trip, f"{name}, {what}: no two changes share a commit")
        if not is_broken:
            names = {home.name: "home", near.name: "near", far.name: "far"}
            for what, region in (("home", home), ("near", near)):
                switches = [scene.switch(region, [home, near, far]) for _ in range(stage.size(3, 9))]
                expect_served(measurement, switches)
                figures[what]["switch_answered_ms"] = percentile((each.answered for each in switches), 0.5) * 1000
                figures[what]["switch_served_ms"] = {
                    f"{names[server.split()[0]]} {server.split()[1]}":
                        percentile((each.served.get(server, 99) for each in switches), 0.5) * 1000
                    for server in switches[0].served
                }  # fmt: skip
        measurement.figures[name] = figures
        told.append(
            f"{name} ms: " + ", ".join(
                f"{what} {each['alone_ms']:.0f} ms, 32 at once {each['of_32_per_second']:.0f}/s"
                for what, each in figures.items()
            )
        )  # fmt: skip
    measurement.expect("waits for another region", not late, "; ".join(late[:3]))
    scene.finish(is_broken=is_broken)
    measurement.headline = "; ".join(told)
    return measurement


def append(scene: Regions, regions: list[Region], clients: int, count: int) -> tuple[list[float], float]:
    """How long each of so many small changes took, and how many were acknowledged a second, by as many clients in each region
    as make `clients` of them, or one."""
    all_writers = []
    share = max(1, clients // len(regions))
    started = time.monotonic()
    for region in regions:
        scene.turns += 1
        commands = [
            [
                Command(f"{scene.turns} {client} {number}", "PATCH", f"/v1/apps/{scene.apps[client % len(scene.apps)]}",
                        {"display_name": f"{scene.turns} {client} {number}"})
                for number in range(count // clients)
            ]
            for client in range(share)
        ]  # fmt: skip
        all_writers.append(region.run(commands))
        region.writers = None
    for writers in all_writers:
        writers.join()
    times = [each for writers in all_writers for each in writers.times]
    return [each for writers in all_writers for each in writers.latencies], len(times) / (max(times) - started)


# MARK: F51

def lose_regions(stage: Stage, is_broken: bool) -> Measurement:
    """F51: the region of the standby, of the primary, of both standbys; and one that is cut off and goes on."""
    scene = Regions(stage, is_synchronous=not is_broken)
    measurement = scene.measurement
    told = []
    for name, between in stage.size((("15/40/40", NEAR),), (("15/40/40", NEAR), ("80/200/150", WIDE))):
        figures: dict = {}
        if not is_broken:
            figures["standby"] = lose_standby(scene, between)
            figures["cut off"] = cut_off(scene, between)
        figures["primary"] = lose_primary(scene, between, is_broken=is_broken)
        if not is_broken:
            for what, survivor in (("primary alone", 0), ("standby alone", 1), ("replica alone", 2)):
                if survivor == 0 or (not stage.is_short and between is NEAR):
                    figures[what] = lose_two(scene, between, survivor)
        measurement.figures[name] = figures
        again = [f"{what} {each['again']:.0f} s" for what, each in figures.items() if each.get("again")]
        told.append(f"{name} ms: writes again after the loss (or return) of: " + ", ".join(again))
        if is_broken:
            break
    scene.finish(is_broken=is_broken)
    lost = measurement.figures["lost"]
    measurement.headline = f"{len(scene.acknowledged)} acknowledged, {lost} lost; " + "; ".join(told)
    return measurement


def begin(scene: Regions, between: tuple[Link, Link, Link]) -> tuple[Region, Region, Region]:
    """A whole cluster, clients that write in every region, and the distance by who is the primary now."""
    scene.machines.wait_until_whole()
    regions = scene.place(between)
    for each in regions:
        if each.writers is None:
            each.write()
    for each in regions:
        assert each.writers and each.writers.wait_for(20, 180), f"nothing is written in {each.name}: {each.writers.answers}"
    return regions


def writes_again(scene: Regions, regions: list[Region], since: float) -> float:
    """After how many seconds each of these regions' clients were acknowledged something."""
    found = [each.writers.first_success_after(since, AGAIN) if each.writers else None for each in regions]
    worst = max(AGAIN if each is None else each for each in found)
    scene.measurement.expect("writes again", worst < AGAIN, f"not within {AGAIN} s: {found}")
    return worst


def expect_served(measurement: Measurement, switches: list[Switch]) -> None:
    missing = [each.served for each in switches if each.served_by_all is None]
    measurement.expect("switch served", not missing, f"{len(missing)} switches; one was served by {missing[:1]} alone")


def come_back(scene: Regions, *regions: Region) -> float:
    """After how many seconds the cluster is whole, and a kill switch is served in the regions that are back."""
    started = time.monotonic()
    scene.bring_back(*regions)
    scene.machines.wait_until_whole(300)
    whole = time.monotonic() - started
    switch = scene.switch(scene.roles()[0], list(scene.regions.values()))
    expect_served(scene.measurement, [switch])
    return whole


def lose_standby(scene: Regions, between: tuple[Link, Link, Link]) -> dict:
    """Commits wait until Patroni has made the third region's machine the synchronous standby."""
    home, near, far = begin(scene, between)
    # An edge whose upstream is in the region that is lost goes on to the next one.
    edge = far.make_edge(f"edge-{scene.turns}", near, home)
    started = time.monotonic()
    scene.area.cut(near.name)
    switch = Switch(scene, home, [home, far])
    scene.lose(near)
    # What the standby had confirmed just before may be answered a moment afterwards.
    again = writes_again(scene, [home, far], started + 2) + 2
    switch.wait()
    expect_served(scene.measurement, [switch])
    with far.inside():
        edge.wait_until(lambda: edge.api.payload(switch.app)["kill_switches"])
    other = time.monotonic() - started
    edge.kill()
    switch.release()
    return {
        "again": again, "edge_at_other_upstream": other, "switch_answered": switch.answered, "switch_served": switch.served_by_all,
        "whole_after_return": come_back(scene, near),
    }  # fmt: skip


def cut_off(scene: Regions, between: tuple[Link, Link, Link]) -> dict:
    """Nothing passes to and from the third region, where everything runs on: its clients are served what is there."""
    home, near, far = begin(scene, between)
    scene.area.cut(far.name)
    switch = Switch(scene, home, [home, near]).wait()
    expect_served(scene.measurement, [switch])
    began, seconds = time.monotonic(), scene.stage.size(20, 40)
    reached: set[str] = set()
    ready: dict[str, set] = {"documents": set(), "writes": set()}
    while time.monotonic() < began + seconds:
        with far.inside():
            for server in far.servers:
                if server.api.payload(switch.app)["kill_switches"]:
                    reached.add(str(server.port))
            for server in (far.node, far.reader):
                ready["documents"].add(server.api.get("/readyz?for=serves_documents").status)
            ready["writes"].add(far.node.api.get("/readyz?for=writes").status)
        time.sleep(1)
    scene.measurement.expect("cut off", not reached, f"the switch has reached {reached} through a line that is cut")
    scene.measurement.expect("serves on", ready["documents"] == {200}, f"/readyz?for=serves_documents: {ready}")
    scene.measurement.expect("says so", 503 in ready["writes"], f"/readyz?for=writes: {ready}")
    healed = time.monotonic()
    scene.area.heal(far.name)
    reaches = {}
    with far.inside():
        for kind, server in zip(("node", "reader", "edge"), far.servers, strict=True):
            server.wait_until(lambda server=server: server.api.payload(switch.app)["kill_switches"])
            reaches[kind] = time.monotonic() - healed
    again = writes_again(scene, [far], healed)
    switch.release()
    scene.machines.wait_until_whole()
    return {"again": again, "switch_answered": switch.answered, "switch_served": switch.served_by_all,
            "cut_off_seconds": seconds, "reached_after_return": reaches}  # fmt: skip


def lose_primary(scene: Regions, between: tuple[Link, Link, Link], *, is_broken: bool) -> dict:
    """Its clients write on while it is cut off, and then everything there is lost."""
    home, near, far = begin(scene, between)
    cut = time.monotonic()
    scene.area.cut(home.name)
    switch = None if is_broken else Switch(scene, near, [near, far])
    if is_broken:
        # What no other region has, acknowledged to those who are beside the primary.
        assert home.writers
        home.writers.wait_for(home.writers.count + 20, 60)
    else:
        time.sleep(4)
        beside = sum(moment > cut + 2 for moment in home.writers.times) if home.writers else 0
        scene.measurement.expect("no false success", not beside, f"{beside} by the primary that is cut off")
    scene.lose(home)
    _, promoted = scene.machines.wait_for_primary(other_than=home.name, seconds=180)
    again = writes_again(scene, [near, far], cut + 2) + 2 if not is_broken else 0
    figures = {"promoted": promoted - cut, "again": again}
    if switch:
        switch.wait()
        expect_served(scene.measurement, [switch])
        switch.release()
        figures |= {"switch_answered": switch.answered, "switch_served": switch.served_by_all}
    if is_broken:
        # Its node, which knows what is lost, would halt.
        scene.area.heal(home.name)
        scene.machines.start_again(home.name)
        return figures
    return figures | {"whole_after_return": come_back(scene, home)}


def lose_two(scene: Regions, between: tuple[Link, Link, Link], survivor: int) -> dict:
    """Nothing is recorded by the one that is left; one of the others is enough to go on."""
    regions = begin(scene, between)
    left = regions[survivor]
    lost = [each for each in regions if each is not left]
    started = time.monotonic()
    scene.lose(*lost)
    time.sleep(scene.stage.size(25, 40))
    with left.inside():
        writes = left.node.api.get("/readyz?for=writes").status
    back = time.monotonic()
    acknowledged = scene.acknowledged_between(started + 2, back)
    scene.measurement.expect("no false success", not acknowledged, f"{acknowledged} with one region left")
    scene.measurement.expect("says so", writes == 503, f"/readyz?for=writes is {writes}")
    scene.bring_back(lost[0])
    again = writes_again(scene, [left], back)
    return {"again": again, "acknowledged_meanwhile": acknowledged, "whole_after_return": come_back(scene, lost[1])}


EXPERIMENTS = [
    Experiment(
        "F50", "three regions: changes and kill switches by the round trip between them",
        "synchronous_commit = local for the nodes' role", {"waits for another region"}, distance,
        needs=("--require-synchronous",),
    ),
    Experiment(
        "F51", "three regions: one is lost or cut off, the primary's one, two of them; all return",
        "asynchronous replication", {"lost"}, lose_regions, needs=("--require-synchronous",),
    ),
]  # fmt: skip
