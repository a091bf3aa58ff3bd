"""How long probes of 1,000 TLS servers take that all come at once, some of which hang, reset, or never end."""

import base64
import json
import ssl
import subprocess
import sys
from collections import Counter
from pathlib import Path

from support.bench import Bench
from support.processes import Meter
from support.report import Result
from support.rounds import alternate, disturbance, median
from support.tools import tool

SECONDS = 30.0
MEGABYTES = 100.0
#: What a prober has to say of each kind of host.
EXPECTED = {
    "sound": {"served"}, "hang": {"timed_out"}, "reset": {"reset"}, "http": {"not_tls"}, "huge": {"too_large"},
    "endless": {"too_large"},
}  # fmt: skip
HOSTS = Path(__file__).parent.parent / "support/tls_hosts.py"


def run(bench: Bench) -> Result:
    result = Result("probe")
    count = bench.pick(1000, 100)
    certificates = [certificate(bench.directory, number) for number in range(8)]
    measured = alternate({"probe": lambda: probe(count, certificates)}, bench.rounds)
    result.raw = {"targets": count, **measured}
    rounds = measured["probe"]
    seconds = median(rounds, "seconds")
    megabytes = max(one["peak_rss_megabytes"] for one in rounds)
    wrong = [line for one in rounds for line in one["wrong"]]
    result.figures.append(
        f"{count:,} probes: {seconds:.2f} s, {median(rounds, 'cpu_seconds'):.2f} s of CPU in the prober, "
        f"{megabytes:.1f} MB at most; outcomes {rounds[-1]['outcomes']}"
    )
    result.goal(f"{count:,} hosts are probed within {SECONDS:g} s", f"{seconds:.2f} s", seconds <= SECONDS)
    result.goal(f"with at most {MEGABYTES:g} MB", f"{megabytes:.1f} MB", megabytes <= MEGABYTES)
    result.goal(
        "each host's own chain is found, each hostile host recognised", f"{len(wrong)} wrong", not wrong,
    )  # fmt: skip
    result.notes += wrong[:10]
    result.notes.append(
        "The servers are one process of Python on the other core; every sound host shakes hands twice, the second time "
        f"for a certificate of the other kind. A host that hangs costs 5 s. {disturbance(*measured.values())}."
    )
    return result


def certificate(directory: Path, number: int) -> Path:
    file = directory / f"host-{number}.pem"
    kind = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if number % 2 else ["rsa:2048"]
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", *kind, "-keyout", file, "-out", f"{file}.crt", "-days", "30",
         "-subj", f"/CN=host-{number}"],
        check=True, capture_output=True,
    )  # fmt: skip
    with file.open("a") as out:
        out.write(Path(f"{file}.crt").read_text())
    return file


def probe(count: int, certificates: list[Path]) -> dict:
    hosts = subprocess.Popen(
        [sys.executable, HOSTS, str(count), *certificates], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        known = []
        while line := hosts.stdout.readline().split():
            known.append(line)
        assert len(known) == count, "the hosts did not start"
        targets = "".join(f"{target}\n" for target, _, _ in known)
        with Meter([hosts.pid]) as meter:
            done = subprocess.run(
                [tool("PROBE_BENCH")], input=targets, capture_output=True, text=True, timeout=300, check=True
            )
    finally:
        hosts.stdin.close()
        hosts.wait()
    *reports, summary = map(json.loads, done.stdout.splitlines())
    leaves = [ssl.PEM_cert_to_DER_cert(Path(f"{file}.crt").read_text()) for file in certificates]
    wrong = [
        f"{report['target']} ({kind}): {report['outcome']}, {report['reason']}"
        for (target, kind, choice), report in zip(known, reports, strict=True)
        if report["outcome"] not in EXPECTED[kind]
        or (kind == "sound" and base64.b64decode(report["leaf"]) != leaves[int(choice)])
        or report["target"] != target
    ]
    outcomes = dict(Counter(report["outcome"] for report in reports).most_common())
    return meter.figures | summary | {"wrong": wrong, "outcomes": outcomes}
