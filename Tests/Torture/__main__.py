"""Runs the experiments and prints the table. `Tests/Torture/run --help`."""

import argparse
import faulthandler
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "EndToEnd")]

import clients  # noqa: E402
import clock_ahead  # noqa: E402
import clocks  # noqa: E402
import corruption  # noqa: E402
import cut_off  # noqa: E402
import disk  # noqa: E402
import failover  # noqa: E402
import issue_times  # noqa: E402
import fleet  # noqa: E402
import keys  # noqa: E402
import kill  # noqa: E402
import lost_switch  # noqa: E402
import malformed  # noqa: E402
import migrating  # noqa: E402
import network  # noqa: E402
import order  # noqa: E402
import patroni  # noqa: E402
import region_faults  # noqa: E402
import servers  # noqa: E402
import smuggling  # noqa: E402
import starting  # noqa: E402
import upgrade  # noqa: E402
import urgent  # noqa: E402
from pinledger import BINARY  # noqa: E402
from report import Experiment, Impossible, MissingFeature, Row, table, write_json  # noqa: E402
from stage import Ground, Stage  # noqa: E402

SEED = 20261121
#: The experiments that every change has to pass: killed processes, a lost end of the ledger, snapshots. `make test-all` runs all.
CI = ("F01+F02", "F04-loss", "F04-switch", "F31")
MODULES = (
    kill, failover, lost_switch, keys, disk, network, clocks, clients, malformed, smuggling, order, starting,
    corruption, upgrade, patroni, urgent, clock_ahead, issue_times, servers, fleet, cut_off,
    migrating, region_faults,
)  # fmt: skip


def main() -> int:
    experiments = [experiment for module in MODULES for experiment in module.EXPERIMENTS]
    experiments.sort(key=lambda each: each.name)
    parser = argparse.ArgumentParser(
        prog="Tests/Torture/run", description="Fault experiments against real processes, each with a broken variant."
    )
    parser.add_argument("--short", action="store_true", help="every experiment in a small size")
    parser.add_argument("--ci", action="store_true", help=f"in a small size, {', '.join(CI)}")
    parser.add_argument("--only", metavar="F01,F08", help="these alone")
    parser.add_argument("--seed", type=int, default=SEED, help="of everything random (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="where all raw figures go")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument("--release", action="store_true", help="the program is a release build: hold it to its times")
    parser.add_argument("--no-variants", action="store_true", help="leave the broken variants out; the run then fails")
    parser.add_argument("--keep", action="store_true", help="keep logs, and say where")
    options = parser.parse_args()
    if options.list:
        for each in experiments:
            print(f"{each.name:8}{each.does}; broken: {each.variant}")
        return 0
    if options.ci:
        options.short = True
        options.only = options.only or ",".join(CI)
    if options.only:
        wanted = [name.strip() for name in options.only.split(",")]
        if unknown := set(wanted) - {each.name for each in experiments}:
            parser.error(f"there is no {', '.join(sorted(unknown))}; --list shows what there is")
        experiments = [each for each in experiments if each.name in wanted]
    # The short forms do without them.
    if not options.short and (missing := missing_packages(experiments)):
        print(f"these are missing: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 69
    is_release = options.release or "/release/" in BINARY

    # However the run ends, the processes that it started end with it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    faulthandler.enable()

    form = "short" if options.short else "full"
    started = time.monotonic()
    rows: list[Row] = []
    was_interrupted = False
    ground: Ground | None = None
    try:
        ground = Ground()
        print(f"{ground.features.version}, {form} form, seed {options.seed}, {os.cpu_count()} cores", flush=True)
        for each in experiments:
            rows.append(conduct(each, ground, options, is_release))
            if sys.stderr.isatty() or os.environ.get("CI"):
                row = rows[-1]
                print(f"{each.name:8}{row.verdict:8}{row.seconds:6.1f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        was_interrupted = True
    finally:
        # A second Ctrl-C must not leave anything behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if ground is not None:
            if options.keep:
                print(f"logs: {ground.directory}")
            ground.destroy(keeps_logs=options.keep)
    seconds = time.monotonic() - started
    print(table(rows))
    passed = sum(row.is_passed for row in rows)
    seen = sum(row.is_seen for row in rows)
    skipped = sum(row.skipped is not None for row in rows)
    print(
        f"{passed} of {len(rows)} pass, {seen} broken variants seen"
        f"; {seconds:.0f} s, seed {options.seed}"
        + (f"; warning: {skipped} skipped, which shows nothing of them" if skipped else "")
    )  # fmt: skip
    if options.json and ground is not None:
        write_json(
            options.json, rows, program=ground.features.version, form=form, seed=options.seed,
            cores=os.cpu_count(), is_release=is_release, seconds=round(seconds, 1),
        )  # fmt: skip
    if was_interrupted:
        print("interrupted", file=sys.stderr)
        return 130
    return 0 if rows and all(row.is_good for row in rows) else 1


def conduct(experiment: Experiment, ground: Ground, options: argparse.Namespace, is_release: bool) -> Row:
    """Runs an experiment, then its broken variant."""
    row = Row(experiment)
    started = time.monotonic()

    def run(is_broken: bool):
        name = experiment.name + ("-broken" if is_broken else "")
        ground.restore()
        stage = Stage(ground, name, is_short=options.short, is_release=is_release, seed=options.seed)
        with stage:
            return experiment.measure(stage, is_broken)

    if missing := [name for name in experiment.needs if name not in ground.features]:
        row.error = f"the program has no {', '.join(missing)}"
    else:
        try:
            row.measurement = run(False)
        except Impossible as why:
            row.skipped = f"not possible here: {why}"
        except MissingFeature as why:
            row.error = str(why)
        except Exception as error:
            row.error = describe(error)
        if row.skipped is None and not options.no_variants:
            try:
                row.broken = run(True)
            except Exception as error:
                row.broken_error = describe(error)
    row.seconds = time.monotonic() - started
    return row


def describe(error: Exception) -> str:
    traceback.print_exc(file=sys.stderr)
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def missing_packages(experiments: list[Experiment]) -> list[str]:
    wanted = sorted({package for each in experiments for package in each.packages})

    def is_installed(package: str) -> bool:
        done = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True)
        return done.stdout == "installed"

    return [package for package in wanted if not is_installed(package)]


if __name__ == "__main__":
    sys.exit(main())
