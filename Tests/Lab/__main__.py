"""Runs the lab and prints a row for each alert. `Tests/Lab/run --help`."""

import argparse
import faulthandler
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(Path(__file__).parent), str(TESTS / "Torture"), str(TESTS / "EndToEnd")]

import dashboard  # noqa: E402
from conduct import Row, conduct  # noqa: E402
from faults import FAULTS  # noqa: E402
from lab import APPS, Lab  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="Tests/Lab/run", description="Faults that raise alerts, and the cures of their runbooks.")
    parser.add_argument("--only", metavar="ALERT,ALERT", help="these alone")
    parser.add_argument("--apps", type=int, default=APPS, help="how many apps there are (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep logs, and say where")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    options = parser.parse_args()
    faults = FAULTS
    if options.only:
        wanted = options.only.split(",")
        if unknown := set(wanted) - {fault.alert for fault in FAULTS}:
            parser.error(f"there is no {', '.join(sorted(unknown))}; --list shows what there is")
        faults = [fault for fault in FAULTS if fault.alert in wanted]
    if options.list:
        for fault in faults:
            print(f"{fault.alert:32}{fault.does}")
        return 0
    # However the run ends, the processes that it started end with it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    faulthandler.enable()
    started = time.monotonic()
    rows: list[Row] = []
    lab = Lab(options.apps)
    failure = None
    try:
        with lab:
            lab.build()
            lab.prometheus.await_quiet()
            print(f"built after {time.monotonic() - started:.0f} s, {lab.count} apps; nothing fires", flush=True)
            for fault in faults:
                rows.append(conduct(lab, fault))
                print(rows[-1], flush=True)
                if not rows[-1].is_cured:
                    break
            else:
                lab.prometheus.await_quiet()
                # Some panels show something only after a fault.
                unanswered = [] if options.only else dashboard.unanswered(lab.prometheus, int(time.monotonic() - started))
                failure = f"panels of the dashboard show nothing: {'; '.join(unanswered)}" if unanswered else None
    except (Exception, KeyboardInterrupt) as error:
        traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"
    print(Row.table(rows))
    if options.keep or failure or not all(row.is_good for row in rows):
        print(f"logs: {lab.directory}")
    else:
        shutil.rmtree(lab.directory, ignore_errors=True)
    good = sum(row.is_good for row in rows)
    print(f"{good} of {len(faults)} alerts came and were cured; {time.monotonic() - started:.0f} s" + (f"; {failure}" if failure else ""))
    return 0 if good == len(faults) and not failure else 1


if __name__ == "__main__":
    sys.exit(main())
