"""Compares two builds on one ledger: documents, deployed clients' formats, exports, state and history.

    Tests/EndToEnd/compare OLD NEW

OLD and NEW are programs. The story of the contract's examples and of every deployed client is run on OLD; its ledger and its
secrets are copied into a database that NEW has made; then both serve, and every GET of the contract is asked of both. Values
that differ between two nodes of OLD too (times of signing, ages) are left out, and so are words for people. Ends with 1 where
anything else differs.
"""

import base64
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import contract
import deployed
import examples
import pinledger
from pinledger import API, Process, Server, free_port

LEDGER_TABLES = ["event", "tree_node", "stream", "head", "command", "signing_secret", "client_secret", "telemetry_secret",
                 "webhook_secret", "material"]  # fmt: skip
# Sentences: no program reads them.
WORDS = {"advice", "detail", "errors", "headline", "message", "sentence", "text", "title", "what", "why", "remedy", "summary"}
PAGES = ("/openapi.yaml", "/openapi.json", "/client-integration.md", "/problems", "/handbook", "/v1/guard-rails")
EXPORTS = Path(__file__).parents[2] / "Sources/ClientFormats/Exports/ExportFormat.swift"


def tell_the_story(api: API) -> None:
    for operation, name, method, path, kind, value in examples.REQUESTS:
        scene = examples.SCENES.get(f"{operation} {name}") or examples.SCENES.get(operation) or examples.host
        place = {"host": examples.HOST, "pin": examples.PIN, "code": "G13"} | scene(api)
        query = f"?app={place['app']}" if path.startswith("/v1/import/") else ""
        target = re.sub(r"{(\w+)}", lambda match: place[match[1]], path) + query
        api.request(method, target, value.encode() if isinstance(value, str) else value, {"Content-Type": kind})
    for kind in deployed.KINDS:
        app = examples.host(api)["app"]
        key = deployed.P256_PRIVATE if kind in ("dynapins", "wultra") else None
        deployed.declare(api, app, kind, key=key)


class Copy:
    """A node of one build on a copy of the ledger."""

    def __init__(self, binary: str, source: Server):
        pinledger.BINARY = binary
        self.base = Server(lowers_rails=False).start()
        self.base.process.kill()
        self.base.process.wait()
        self.base.process = None
        present = self.base.sql("SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'pinledger'::regnamespace").split()
        tables = [f"pinledger.{table}" for table in LEDGER_TABLES if table in present]
        dump = subprocess.run(
            ["pg_dump", "-h", f"{source.data}/postgresql", "-U", "postgres", "--data-only", "--disable-triggers",
             "--load-via-partition-root", *itertools.chain(*(("-t", table) for table in tables)), "-t", "pinledger.event_*", "pinledger"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        off = "".join(f"ALTER TABLE {table} DISABLE TRIGGER ALL; DELETE FROM {table};\n" for table in tables)
        on = "".join(f"ALTER TABLE {table} ENABLE TRIGGER ALL;\n" for table in tables)
        more = "".join(f"DELETE FROM pinledger.{table};\n" for table in ("document", "published_app", "snapshot") if table in present)
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", f"{self.base.data}/postgresql", "-U", "postgres", "-d", "pinledger"]
        subprocess.run(command, input=off + more + dump + on, check=True, text=True, capture_output=True)
        port = free_port()
        key = source.data / "key-encryption-key"
        self.node = Process(
            self.base.home / "node.log",
            ["serve", "--database", self.base.connection_string, "--kek-file", str(key), "--listen", f"127.0.0.1:{port}"], port,
        )  # fmt: skip
        self.node.spawn()
        self.api = API(port, source.api.token)
        self.node.wait_until(lambda: self.api.get("/readyz").status == 200)

    def end(self) -> None:
        self.node.stop()
        self.base.destroy()


def targets(api: API):
    """Every GET of the contract, for everything that is there."""
    apps = [one["app"] for one in api.must("GET", "/v1/apps?limit=500").json["apps"]]
    exports = re.findall(r'^    case \w+ = "(\w+)"|^    case (\w+)$', EXPORTS.read_text(), re.M)
    values = {
        "app": apps, "client": deployed.KINDS, "format": ["".join(one) for one in exports], "host": [examples.HOST],
        "kid": [key["kid"] for key in api.get("/v1/keys").json["keys"]],
        "webhook_id": [hook["webhook_id"] for hook in api.get("/v1/webhooks").json["webhooks"]],
        "code": ["G01", "G13"], "pin": [examples.PIN], "type": ["guard_rail"],
    }  # fmt: skip
    for path, method, operation in contract.operations():
        if method != "get" or path.startswith(PAGES) or "text/event-stream" in str(operation["responses"].get("200", "")):
            continue
        names = re.findall(r"{(\w+)}", path)
        if any(name not in values for name in names):
            continue
        for chosen in itertools.product(*(values[name] for name in names)):
            place = dict(zip(names, chosen))
            target = re.sub(r"{(\w+)}", lambda match: place[match[1]], path)
            yield f"{target}?format={place.get('format')}" if "format" in str(operation.get("parameters")) and "format" not in names else target
            for query in ("?position=40", "?app_version=1.2.3&platform=ios"):
                yield target + query


def values(answer) -> dict:
    """What an answer says, by where it says it."""
    found = {"status": answer.status, "type": answer["Content-Type"], "cache": answer["Cache-Control"]}

    def walk(value, at):
        if isinstance(value, dict):
            for name, each in value.items():
                if name not in WORDS:
                    walk(each, f"{at}/{name}")
        elif isinstance(value, list):
            found[f"{at}/length"] = len(value)
            for index, each in enumerate(value):
                walk(each, f"{at}/{index}")
        elif isinstance(value, str) and re.fullmatch(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", value):
            for part in value.split(".")[:2]:
                walk(decoded(part), f"{at}/jws")
        else:
            found[at] = value

    def decoded(part):
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        try:
            return json.loads(raw)
        except ValueError:
            return raw.hex()

    text = answer.body.decode("utf-8", "backslashreplace")
    try:
        walk(json.loads(text), "")
    except ValueError:
        walk(text.strip(), "")
    return found


def main() -> int:
    old, new = (str(Path(name).resolve()) for name in sys.argv[1:3])
    pinledger.BINARY = old
    source = Server().start()
    copies = []
    try:
        tell_the_story(source.api)
        copies = [Copy(old, source), Copy(old, source), Copy(new, source)]
        first, control, other = (copy.api for copy in copies)
        asked, differences = 0, []
        for target in targets(first):
            answers = [values(api.get(target)) for api in (first, control, other)]
            asked += 1
            changing = {at for at in {*answers[0], *answers[1]} if answers[0].get(at) != answers[1].get(at)}
            for at in sorted({*answers[0], *answers[2]} - changing):
                if answers[0].get(at) != answers[2].get(at):
                    differences.append(f"{target} {at}: {answers[0].get(at)!r} is {answers[2].get(at)!r}")
        print(f"{asked} requests asked of both, {first.position()} events; {len(differences)} differences")
        print("\n".join(differences))
        return 1 if differences else 0
    finally:
        for copy in copies:
            copy.end()
        source.destroy()


if __name__ == "__main__":
    sys.exit(main())
