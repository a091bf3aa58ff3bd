"""The lab: a primary and a standby, two servers that record, a read-only node, an edge and an edge behind it, and Prometheus."""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from authority import Authority, replace
from clock import library
from clocks import Clock
from cluster import Cluster
from collector import Collector
from disk import SmallDisk
from ledger import ACCOUNT, Ledger, Template, program
from pinledger import BINARY, Answer, eventually, host_body
from prometheus import PATIENCE, Prometheus
from receiver import Receiver
from service import SecureAPI, Service
from tls_server import Key, TLSServer

RULES = Path(__file__).parents[2] / "deploy/prometheus/pinledger.rules.yml"
APPS = 2000
CLIENTS = 8
READER = "pinledger_lab_reader"
#: The app that faults are about, and its host, which a TLS server of the lab presents.
APP, HOST = "com.example.lab", "api.lab.example.com"
#: The state directory of the second server: room for twice its documents, and as much again.
STATE_MEGABYTES = 200


class Lab:
    def __init__(self, apps: int = APPS):
        self.count = apps
        self.directory = Path(tempfile.mkdtemp(prefix="pinledger-lab-"))
        # The database's account reads the clock there.
        self.directory.chmod(0o755)
        self._exits = contextlib.ExitStack()
        #: Things that one function of a fault keeps for the next.
        self.kept: dict = {}

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *exception) -> None:
        self._exits.close()

    def on_exit(self, clean_up: Callable) -> None:
        """Called at the end, the last first."""
        self._exits.callback(clean_up)

    # MARK: Building

    def build(self) -> None:
        self.authority = Authority(self.directory)
        self._build_database()
        self._build_servers()
        self._build_reader()
        self.make_apps()
        self._build_edges()
        targets = [service.instance for service in self.services.values()]
        self.prometheus = Prometheus(self.directory, RULES, self.authority, targets)
        self.on_exit(self.prometheus.destroy)
        self.write_check(failed=False)
        self.prometheus.start()

    def _build_database(self) -> None:
        # The primary has a clock that can be wrong.
        self.database_clock = self._clock("database")
        settings = {"archive_mode": "on", "archive_command": "'true'", "fsync": "off"}
        self.primary = Cluster(settings=settings, environment=self.database_clock.environment)
        self.on_exit(lambda: self.primary.destroy())
        self.primary.start()
        template = Template.make(self.primary, self.directory)
        self.ledger = Ledger(template, "lab")
        self.primary.execute("postgres", f"CREATE ROLE {READER} LOGIN")
        self.primary.execute("postgres", f"GRANT pinledger_reader TO {READER}")
        self.standby = Cluster(standby_of=self.primary)
        self.on_exit(lambda: self.standby.destroy())
        self.standby.start()
        self.primary.wait_for_standby()

    def _build_servers(self) -> None:
        self.receiver = Receiver()
        self.on_exit(lambda: self.receiver.__exit__())
        self.collector = Collector()
        self.on_exit(self.collector.close)
        self.served, self.spare = Key(self.directory, "served", HOST), Key(self.directory, "spare", HOST)
        self.site = TLSServer(self.served)
        self.on_exit(lambda: self.site.close())
        self.services: dict[str, Service] = {}
        common = {
            "database": self.ledger.conninfo(), "kek_file": str(self.ledger.kek), "allow_private_range": ["127.0.0.0/8"],
            "allow_http_webhooks": True, "trusted_proxy": ["127.0.0.0/8"], "requests_per_operator": 0,
        }  # fmt: skip
        # The first one looks at the hosts.
        looks = {"vantage": "lab", "probe_interval": 60, "resolve": [f"{HOST}=127.0.0.1"]}
        self.first = self._service("first", common | looks | {"otlp_endpoint": self.collector.url})
        self.first.start("--trust-database")
        self.disk = SmallDisk(self, "disk", STATE_MEGABYTES) if os.geteuid() == 0 else None
        state = self.disk.path / "state" if self.disk else None
        # The second one has a clock that can be wrong, and a small disk.
        self.clock = self._clock("second")
        self.second = self._service("second", common, state=state, environment=self.clock.environment)
        self.second.start()

    def _build_reader(self) -> None:
        both = [self.standby, self.primary]
        hosts, ports = (",".join(each) for each in zip(*((str(each.home), str(each.port)) for each in both)))
        self.reader = self._service("reader", {
            "read_only": True, "database": f"host={hosts} port={ports} dbname={self.ledger.name} user={READER}",
            "batch_public_key": [self.batch_public_key(self.ledger.kek)],
        })  # fmt: skip
        self.reader.start()

    def _build_edges(self) -> None:
        """Edges with tokens of their own, which trust the keys of the servers."""
        self.trusted = self.directory / "keys.json"
        self.trust()
        tokens = {name: self.directory / f"{name}.token" for name in ("edge", "far-edge")}
        self.new_edge_token()
        replace(tokens["far-edge"], os.urandom(24).hex().encode() + b"\n")
        urls = [f"https://127.0.0.1:{server.clients.port}" for server in (self.first, self.second)]
        self.edge = self._edge("edge", urls, tokens["edge"], {"downstream_token_file": str(tokens["far-edge"])})
        self.edge.start()
        self.far_edge = self._edge("far-edge", [f"https://127.0.0.1:{self.edge.clients.port}"], tokens["far-edge"], {})
        self.far_edge.start()

    def _clock(self, name: str) -> Clock:
        clock = Clock(library(), self.directory / f"{name}.clock", 0)
        clock.path.chmod(0o644)
        return clock

    def _service(self, name: str, settings: dict, **more) -> Service:
        service = Service(name, self.directory, self.authority, self.ledger.token, settings, **more)
        self.services[name] = service
        self.on_exit(service.destroy)
        return service

    def _edge(self, name: str, upstream: list[str], token: Path, settings: dict) -> Service:
        settings |= {
            "upstream": upstream, "upstream_token_file": str(token), "upstream_ca_file": str(self.authority.file),
            "trusted_keys": str(self.trusted), "upstream_interval": 2, "trusted_proxy": ["127.0.0.0/8"],
        }  # fmt: skip
        return self._service(name, settings, command=("edge", "serve"))

    def trust(self, without: str | None = None) -> None:
        """Gives the edges the keys of the servers, but for one of them."""
        keys = self.clients.request("GET", "/client/v1/jwks.json", token=None).json["keys"]
        replace(self.trusted, json.dumps({"keys": [key for key in keys if key["kid"] != without]}).encode())

    def new_edge_token(self) -> None:
        grants = [{"role": "viewer", "apps": ["*"]}]
        made = self.api.must("POST", "/v1/tokens", {"name": "edge", "grants": grants}).json
        self.kept["edge token"] = made["token_id"]
        replace(self.directory / "edge.token", made["token"].encode() + b"\n")

    # MARK: Asking

    @property
    def api(self) -> SecureAPI:
        """Operators' address of the first server."""
        return self.first.api

    @property
    def clients(self) -> SecureAPI:
        return self.first.clients

    def batch_public_key(self, kek: Path) -> str:
        return program("key", "batch-public-key", "--kek-file", str(kek)).stdout.strip()

    def command(self, *words: str, status: int = 0, token: str | None = None) -> str:
        """An operator's command, or that of a token's holder, with `pinledger` as its first word or without, and what it prints."""
        words = words[1:] if words[0] == "pinledger" else words
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PINLEDGER_")}
        environment |= {
            "PINLEDGER_SERVER": f"https://127.0.0.1:{self.api.port}", "PINLEDGER_TOKEN": token or self.ledger.token, "NO_COLOR": "1",
            "PINLEDGER_CA_FILE": str(self.authority.file), "XDG_STATE_HOME": str(self.directory), "XDG_CONFIG_HOME": str(self.directory),
        }  # fmt: skip
        done = subprocess.run(
            [BINARY, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @staticmethod
    def shows(text: str, printed: str) -> None:
        assert text in printed, f"a command does not show {text}:\n{printed}"

    def change(self, path: str, body: dict, method: str = "PATCH") -> Answer:
        """A change that has to succeed."""
        return self.api.must(method, path, body)

    def person(self, name: str, role: str) -> SecureAPI:
        """The API of the first server for a person of this role on all apps."""
        made = self.change("/v1/access/principals", {"name": name, "kind": "person"}, "POST").json["principal_id"]
        self.change(f"/v1/access/principals/{made}/grants", {"role": role, "apps": ["*"]}, "POST")
        token = self.change("/v1/tokens", {"name": "own", "principal_id": made}, "POST").json["token"]
        return SecureAPI(self.api.port, token, self.authority)

    def check(self, status: int) -> None:
        """The nightly check, which has to end with this status; the machine's exporter shows what became of it."""
        program("fsck", "--database", self.ledger.audited, "--kek-file", str(self.ledger.kek), status=status, seconds=PATIENCE)
        self.write_check(failed=status != 0)

    # MARK: Changing

    def make_apps(self) -> None:
        """All apps but one are alike; the one that faults are about is presented by the lab's TLS server."""
        self.api.lower_rails()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self._make_apps, range(CLIENTS)))
        self.command("app", "create", APP)
        self.command("host", "add", APP, HOST, "--primary", str(self.served.certificate), "--backup", str(self.spare.request))
        self.present(self.served)
        for service in self.services.values():
            eventually(lambda api=service.clients: api.document(APP).status == 200, f"the document on {service.name}", PATIENCE)

    def _make_apps(self, share: int) -> None:
        """One client's share of the apps, over one connection."""
        # A pattern has no server that a node looks at.
        body = json.dumps({"hosts": [host_body("*.example.com")]}).encode()
        fields = {"Authorization": f"Bearer {self.ledger.token}", "Content-Type": "application/json"}
        with self.api.connected() as connection:
            for number in range(share, self.count - 1, CLIENTS):
                connection.request("PUT", f"/v1/apps/com.example.app{number}/spec", body, fields)
                response = connection.getresponse()
                text = response.read()
                assert response.status == 201, text

    def present(self, key: Key) -> None:
        """The lab's TLS server presents this certificate, and the first server has looked at it."""
        self.site.serve(key)
        if self.kept.get("endpoint") != self.site.port:
            self.change(f"/v1/apps/{APP}/hosts/{HOST}", {"endpoints": [f"{HOST}:{self.site.port}"]})
            self.kept["endpoint"] = self.site.port
        self.command("probe", f"{HOST}:{self.site.port}")

    def write_check(self, *, failed: bool, age: int = 0) -> None:
        """The lines of the collector of systemd about the nightly check, after a run."""
        lines = [
            f'node_systemd_unit_state{{name="pinledger-fsck.service",state="failed"}} {int(failed)}',
            f'node_systemd_timer_last_trigger_seconds{{name="pinledger-fsck.timer"}} {time.time() - age:.0f}',
        ]
        replace_readable(self.prometheus.units / "fsck.prom", "\n".join(lines) + "\n")


def replace_readable(path: Path, text: str) -> None:
    replace(path, text.encode())
    path.chmod(0o644)
