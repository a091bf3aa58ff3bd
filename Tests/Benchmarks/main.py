"""Runs the benchmarks, prints what they found, and keeps it as JSON."""

import argparse
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from support import machine
from support.bench import Bench
from support.report import Result

HERE = Path(__file__).parent
#: In the order in which they run.
CASES = [
    "fetch", "evaluated", "compat", "evaluate", "client", "access", "existence", "tls", "append", "reader", "admin", "nodes", "fold", "start", "memory", "idle", "propagation",
    "probe", "telemetry", "push", "hostile", "scale",
]  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tests/Benchmarks/run", description=__doc__)
    parser.add_argument("--only", metavar="NAME,…", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small and short: shows that all of it runs, no more")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything into one file too")
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="where the raw results go (with --quick they go nowhere else)"
    )
    parser.add_argument(
        "--reader-seconds", type=float, metavar="SECONDS", help="how old the snapshot of `reader` becomes (30)"
    )
    chosen = parser.parse_args()
    chosen.cases = chosen.only.split(",") if chosen.only else CASES
    if unknown := set(chosen.cases) - set(CASES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    return chosen


def main() -> int:
    chosen = arguments()
    if (os.cpu_count() or 1) < 2:
        print("two cores are needed: one for the server, one for the load", file=sys.stderr)
        return 69
    # An end from outside too must leave no servers and no databases behind: as an exception it ends every `with`.
    for each in (signal.SIGTERM, signal.SIGHUP):
        # Under nohup it is ignored, and stays so.
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, lambda number, _: sys.exit(128 + number))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    results: list[Result] = []
    failed: list[str] = []
    with Bench(quick=chosen.quick, reader_seconds=chosen.reader_seconds) as bench:
        described = machine.describe(bench.directory)
        print(json.dumps(described, indent=1, ensure_ascii=False), flush=True)
        # Quick figures are not worth keeping.
        directory = chosen.results or (None if chosen.quick else HERE / "results")
        for name in chosen.cases:
            began = time.monotonic()
            print(f"\n{name} …", file=sys.stderr, flush=True)
            try:
                result = importlib.import_module(f"cases.{name}").run(bench)
            except Exception:
                # One benchmark that cannot run does not take the others with it.
                traceback.print_exc()
                failed.append(name)
                continue
            result.raw["seconds"] = round(time.monotonic() - began, 1)
            if directory:
                result.keep(directory, described, chosen.quick)
            results.append(result)
            print(f"\n{result}", flush=True)

    print("\n== goals ==" + (" (a quick run: the figures say nothing)" if chosen.quick else ""))
    for result in results:
        for goal in result.goals:
            print(f"  {goal}")
    for name in failed:
        print(f"  could not run: {name}")
    if chosen.json:
        content = {"machine": described, "quick": chosen.quick, "failed": failed, "results": [vars(r) for r in results]}
        chosen.json.write_text(json.dumps(content, indent=1, default=vars) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
