"""Text that Unicode's rules make slow to compare, beside plain text of the same size, in every input of the program."""

import gzip
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pinledger import BINARY
from support.bench import Bench
from support.processes import Meter
from support.report import Result
from support.servers import Node, make_document
from wire import Wire, get

APP = "com.example.bench"
DOCUMENT = f"/client/v1/apps/{APP}/document"
REPORTS = f"/client/v1/apps/{APP}/reports"
#: What a text is made of: letters; marks in the order that is most work; as many as are let in; what formats nest by.
UNITS = {
    "plain": "x", "marks": "\u0301\u0316", "30 marks at a time": "x" + "\u0301\u0316" * 15, "flags": "\U0001f1e6",
    "brackets": "[", "quotation marks": '"', "escapes": "\\",
}  # fmt: skip
#: Each four times the one before.
HEADS = [400, 1600, 6400]
BODIES = [16_000, 64_000, 256_000]
FILES = [60_000, 240_000, 960_000]
#: For four times the bytes. A time that grows with the square would be sixteen times as long.
LONGEST = 8
#: What is answered where a body is not looked at.
UNREAD = {401, 404, 415}
#: Microseconds of processor time that are not told apart from a request's own.
LEAST = 2000


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def heads() -> dict[str, Callable[[str], bytes]]:
    def field(name: str) -> Callable[[str], bytes]:
        return lambda text: get(DOCUMENT).replace(b"\r\n\r\n", f"\r\n{name}: {text}\r\n\r\n".encode())

    def target(form: str) -> Callable[[str], bytes]:
        return lambda text: get("/").replace(b" / ", f" {form.format(text)} ".encode(), 1)

    names = ["If-None-Match", "Accept-Encoding", "Pinledger-Client", "Connection", "Authorization", "X-Unknown"]
    return {f"field {name}": field(name) for name in names} | {
        "path": target("/v1/apps/{}"), "query": target(DOCUMENT + "?x={}"),
        "path with percent escapes": lambda text: target("/v1/apps/{}")("".join(f"%{b:02x}" for b in text.encode()[: len(text.encode()) // 3])),
    }  # fmt: skip


def bodies(token: str) -> dict[str, Callable[[str], bytes]]:
    def report(form: str) -> Callable[[str], bytes]:
        def make(text: str) -> bytes:
            body = gzip.compress(form.replace("TEXT", quoted(text)).encode(), 1)
            return get(
                REPORTS, "Content-Type: application/json", "Content-Encoding: gzip", f"Content-Length: {len(body)}", method="POST"
            ) + body  # fmt: skip

        return make

    def sent(path: str, kind: str, make: Callable[[str], str]) -> Callable[[str], bytes]:
        def request(text: str) -> bytes:
            body = make(text).encode()
            fields = [f"Content-Type: {kind}", f"Content-Length: {len(body)}", f"Authorization: Bearer {token}"]
            return get(path, *fields, method="POST") + body

        return request

    def imported(file: str, kind: str, form: str) -> Callable[[str], bytes]:
        return sent(f"/v1/import/{file}?app={APP}.new&dry_run=true", kind, lambda text: form.replace("TEXT", text))

    return {
        "report, a member's name": report('{TEXT:1,"outcomes":[]}'),
        "report, a value": report('{"outcomes":[{"host":TEXT}]}'),
        "report of another library": lambda text: report('{"hostname":TEXT}')(text).replace(b"/reports", b"/reports/trustkit", 1),
        "command, a member's name": sent("/v1/apps", "application/json", lambda text: f"{{{quoted(text)}:1}}"),
        "command, a value": sent("/v1/apps", "application/json", lambda text: f'{{"app":{quoted(text)}}}'),
        "import of headers": imported("hpkp", "text/plain", "Host: a.example.com\nPublic-Key-Pins: TEXT"),
        "import of XML": imported("android_nsc", "application/xml", "<a>TEXT</a>"),
    }


def files() -> dict[str, tuple[list[str], Callable[[str], str]]]:
    """What the command line reads: the arguments before the file's name, and the file's text."""
    return {
        "certificate (inspect)": (["inspect"], lambda text: text),
        "document (document verify)": (["document", "verify", "--jwks", "KEYS", "--file"], lambda text: text),
    }


def run(bench: Bench) -> Result:
    result = Result("hostile")
    _, ledger = bench.cluster.ledger()
    seconds, turns = bench.pick(0.5, 0.03), bench.pick(2, 1)
    with Node(ledger, "--telemetry-rate", "0") as node:
        make_document(node.api, APP)

        def microseconds(request: bytes) -> float:
            """Processor time of the node for each request."""
            count, end = 0, time.monotonic() + seconds
            with Meter([node.pid]) as meter:
                while time.monotonic() < end or count == 0:
                    # One connection each: some are closed over it.
                    with Wire(node.port, seconds=120) as wire:
                        answer = wire.send(request).answer()
                    assert answer is not None and (request.startswith(b"GET") or answer.status not in UNREAD), answer
                    count += 1
            return meter.figures["server_cpu_seconds"] / count * 1e6

        for places, sizes in ((heads(), HEADS), (bodies(node.api.token), BODIES)):
            for place, make in places.items():
                compare(result, place, sizes, turns, lambda text, make=make: microseconds(make(text)))
        keys = node.directory / "keys.json"
        keys.write_bytes(node.api.get("/client/v1/jwks.json").body)
        for place, (arguments, make) in files().items():
            arguments = [argument.replace("KEYS", str(keys)) for argument in arguments]
            compare(result, place, FILES, turns, command(node.directory, arguments, make))
    return result


def command(directory: Path, arguments: list[str], make: Callable[[str], str]) -> Callable[[str], float]:
    def microseconds(text: str) -> float:
        file = directory / "input"
        file.write_bytes(make(text).encode())
        began = time.monotonic()
        subprocess.run([BINARY, *arguments, str(file)], capture_output=True, timeout=120)
        return (time.monotonic() - began) * 1e6

    return microseconds


def compare(result: Result, place: str, sizes: list[int], turns: int, measure: Callable[[str], float]) -> None:
    """Each text at each size; the sides in turn."""
    found: dict[str, list[float]] = {name: [] for name in UNITS}
    for size in sizes:
        for name, unit in UNITS.items():
            text = unit * (size // len(unit.encode()))
            found[name].append(min(measure(text) for _ in range(turns)))
    result.raw[place] = {"bytes": sizes, "microseconds": found}
    for name, times in found.items():
        if name != "plain":
            sides = ", ".join(f"{t / max(p, 1):.2f}" for t, p in zip(times, found["plain"], strict=True))
            result.ratios.append(f"{sides:>24}  {name} to plain in {place}, {', '.join(map(str, sizes))} bytes")
    growth = {n: max(b / max(a, LEAST) for a, b in zip(t, t[1:])) for n, t in found.items()}
    worst = max(growth, key=growth.get)
    result.goal(
        f"{place}: time at most {LONGEST} times as long for four times the bytes", f"{growth[worst]:.1f} ({worst})",
        growth[worst] <= LONGEST,
    )  # fmt: skip
