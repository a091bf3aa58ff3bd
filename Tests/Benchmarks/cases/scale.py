"""What a ledger of a hundred million events and a hundred thousand apps costs a node: measured at a hundredth and at a tenth of it,
and extrapolated."""

import math
import time

from support.bench import Bench
from support.large import DATABASE, LargeLedger
from support.processes import megabytes, resident_kilobytes
from support.report import Result
from support.servers import Node

from cases.fold import fsck, serve

EVENTS, APPS = 100_000_000, 100_000
#: What is measured of each ledger, and its unit.
FIGURES = {
    "start_seconds": ("ready without a snapshot", "s"), "start_mb": ("and at the most", "MB"),
    "kept_seconds": ("ready with a snapshot", "s"), "kept_mb": ("resident then", "MB"),
    "snapshot_mb": ("one snapshot", "MB"), "fsck_seconds": ("fsck", "s"), "fsck_mb": ("and at the most", "MB"),
    "database_mb": ("the database on disk", "MB"),
}  # fmt: skip


def run(bench: Bench) -> Result:
    result = Result("scale")
    shares = bench.pick((100, 10), (10_000, 5_000))
    measured = {share: measure(bench, EVENTS // share, max(20, APPS // share)) for share in shares}
    result.raw = {str(share): figures for share, figures in measured.items()}
    small, large = (measured[share] for share in shares)
    growth = large["events"] / small["events"]
    for name, (words, unit) in FIGURES.items():
        # The exponent with which it grew from the one ledger to the other goes on to the size that is asked for. Less than
        # linear growth is not believed: a part that is constant would hide one that is not.
        exponent = max(1.0, math.log(large[name] / small[name], growth))
        whole = large[name] * (EVENTS / large["events"]) ** exponent
        result.figures.append(
            f"{words}: {small[name]:,.1f} {unit}, {large[name]:,.1f} {unit}; at 100 M events about {whole:,.0f} {unit}")  # fmt: skip
        result.raw.setdefault("extrapolated", {})[name] = round(whole, 1)
        result.ratio(f"times as much at {growth:.1f} times the events and apps: {words}", large[name] / small[name])
    result.notes.append(
        f"{small['events']:,} events of {small['apps']:,} apps, and {large['events']:,} of {large['apps']:,}; 5 hosts with 3 pins each. The "
        "database's cache is as the statements before left it. One round.")  # fmt: skip
    return result


def measure(bench: Bench, events: int, apps: int) -> dict:
    large = LargeLedger(bench.directory / f"scale-{events}", events, apps)
    try:
        with large:
            cold, audited = serve(large, "none"), fsck(large)
            large.put_snapshot("kept")
            with Node(large.ledger) as node:
                kept_seconds = time.monotonic() - node.began
                assert node.api.document(large.app).status == 200
                kept_mb = megabytes(resident_kilobytes(node.pid))
            return {
                "events": large.events, "apps": apps, "loaded": large.loaded,
                "start_seconds": cold["wall_seconds"], "start_mb": megabytes(cold["peak_kib"]),
                "kept_seconds": kept_seconds, "kept_mb": kept_mb,
                "snapshot_mb": int(large.sql("SELECT max(size) FROM (SELECT sum(octet_length(body)) AS size FROM pinledger.snapshot_part GROUP BY position) s")) / 1e6,
                "fsck_seconds": audited["wall_seconds"], "fsck_mb": megabytes(audited["peak_kib"]),
                "database_mb": int(large.sql(f"SELECT pg_database_size('{DATABASE}')")) / 1e6,
            }  # fmt: skip
    finally:
        large.stop()
