"""The load generators: wrk, h2load, and an open-loop client of our own; each a process on the generator's core."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from support.processes import GENERATOR_CORE
from support.rounds import percentile

HERE = Path(__file__).parent


def wrk(url: str, connections: int, seconds: float, headers: dict | None = None, core: int | None = GENERATOR_CORE,
        script: Path = HERE / "wrk-report.lua", arguments: list[str] | None = None) -> dict:  # fmt: skip
    """As many requests as the server takes, one at a time on each connection."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "-s", str(script)]
    for name, value in (headers or {}).items():
        command += ["-H", f"{name}: {value}"]
    output = _run([*command, url, *(["--", *arguments] if arguments else [])], core)
    figures = json.loads(output.strip().splitlines()[-1])
    if figures["requests"] == 0:
        raise RuntimeError(f"wrk got no answer:\n{output}")
    return {
        "requests": figures["requests"],
        "seconds": figures["microseconds"] / 1e6,
        "per_second": figures["requests"] / figures["microseconds"] * 1e6,
        "bytes_per_answer": figures["bytes"] / figures["requests"],
        "errors": figures["errors"],
        "p50_ms": figures["p50"] / 1000,
        "p99_ms": figures["p99"] / 1000,
        "max_ms": figures["max"] / 1000,
    }


def h2load(url: str, clients: int, seconds: float, *, streams: int = 1, http1: bool = False,
           per_second: int | None = None, headers: dict | None = None) -> dict:  # fmt: skip
    """HTTP/2 or HTTP/1.1, over TLS where the URL says so; with `per_second`, paced."""
    with tempfile.TemporaryDirectory(prefix="pinledger-bench-h2load-") as directory:
        log = Path(directory) / "requests"
        command = ["h2load", "-t1", f"-c{clients}", f"-m{streams}", f"-D{max(1, round(seconds))}"]
        if http1:
            command.append("--h1")
        if per_second:
            command += [f"--rps={per_second / clients:g}", f"--log-file={log}"]
        for name, value in (headers or {}).items():
            command += ["-H", f"{name}: {value}"]
        output = _run([*command, url], GENERATOR_CORE)
        figures = _h2load_figures(output)
        if per_second:
            times = [int(line.split()[2]) / 1000 for line in log.read_text().splitlines()]
            figures |= {"p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "max_ms": max(times)}
    return figures


def _h2load_figures(output: str) -> dict:
    def find(pattern: str) -> re.Match:
        match = re.search(pattern, output)
        if not match:
            raise RuntimeError(f"h2load says something unexpected:\n{output}")
        return match

    finished = find(r"finished in ([\d.]+)(s|ms), ([\d.]+) req/s")
    counts = find(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored")
    done = int(counts[1])
    codes = find(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx")
    if done == 0:
        raise RuntimeError(f"h2load got no answer:\n{output}")
    traffic = find(r"traffic: .*?\((\d+)\) total")
    protocol = re.search(r"(?:Application|TLS) protocol: (\S+)\s*$", output, re.MULTILINE)
    return {
        "requests": done,
        "seconds": float(finished[1]) / (1 if finished[2] == "s" else 1000),
        "per_second": float(finished[3]),
        "bytes_per_answer": int(traffic[1]) / done,
        "errors": int(counts[3]) + int(codes[3]) + int(codes[4]),
        "answers_304": int(codes[2]),
        "protocol": protocol[1] if protocol else "",
    }


def paced(port: int, target: str, connections: int, per_second: int, seconds: float,
          headers: dict | None = None) -> dict:  # fmt: skip
    """An open loop: every request has its moment, and its time counts from there, however late it could be sent."""
    job = {
        "port": port, "target": target, "connections": connections, "per_second": per_second, "seconds": seconds,
        "headers": headers or {},
    }  # fmt: skip
    return json.loads(_run([sys.executable, "-B", str(HERE / "paced_client.py"), json.dumps(job)], GENERATOR_CORE))


def _run(command: list[str], core: int | None) -> str:
    pin = ["taskset", "-c", str(core)] if core is not None else []
    done = subprocess.run([*pin, *command], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
