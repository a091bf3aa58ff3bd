"""A real Prometheus that scrapes the lab with the shipped rules, and node_exporter, which shows what a machine says of its units."""

import http.client
import shutil
import signal
import subprocess
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import shortening
import yaml
from authority import Authority, replace
from pinledger import API, eventually, free_port

#: A limit is for what never comes.
PATIENCE = 600


@dataclass
class Alert:
    """An alert that fires, as Prometheus would send it."""

    labels: dict[str, str]
    summary: str

    @property
    def name(self) -> str:
        return self.labels["alertname"]


class Prometheus:
    def __init__(self, directory: Path, rules: Path, authority: Authority, targets: list[str]):
        self.home = directory / "prometheus"
        self.units = self.home / "units"
        self.units.mkdir(parents=True)
        self.authority, self.targets = authority, targets
        self.port, self.exporter = free_port(), free_port()
        self.api = API(self.port, None)
        self.config = self.home / "prometheus.yml"
        (self.home / rules.name).write_text(yaml.safe_dump(shortening.shortened(rules), sort_keys=False))
        self.rules = rules.name
        self.processes: list[subprocess.Popen] = []
        self.write()

    def write(self, job: str = "pinledger") -> None:
        nodes = {
            "job_name": job, "scheme": "https", "tls_config": {"ca_file": str(self.authority.file)},
            "static_configs": [{"targets": self.targets}],
        }  # fmt: skip
        machine = {"job_name": "machine", "static_configs": [{"targets": [f"127.0.0.1:{self.exporter}"]}]}
        content = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
            "rule_files": [self.rules], "scrape_configs": [nodes, machine],
        }  # fmt: skip
        replace(self.config, yaml.safe_dump(content).encode())

    def _spawn(self, program: str, *arguments: str) -> None:
        found = shutil.which(program)
        assert found, f"{program} is missing: deploy/install-packages --all-tests"
        with (self.home / f"{program}.log").open("ab") as log:
            process = subprocess.Popen(
                [found, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)  # fmt: skip
        self.processes.append(process)

    def start(self) -> None:
        self._spawn(
            "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
            f"--collector.textfile.directory={self.units}", f"--web.listen-address=127.0.0.1:{self.exporter}")  # fmt: skip
        self._spawn(
            "prometheus", f"--config.file={self.config}", f"--storage.tsdb.path={self.home}/data",
            # For how long a series counts that nobody scrapes any more: five minutes elsewhere.
            f"--query.lookback-delta={shortening.divided(300)}", f"--web.listen-address=127.0.0.1:{self.port}")  # fmt: skip

        def is_ready() -> bool:
            assert all(process.poll() is None for process in self.processes), f"see the logs in {self.home}"
            try:
                # 503 while it opens its data.
                return self.api.get("/-/ready").status == 200
            except (OSError, http.client.HTTPException):
                return False

        eventually(is_ready, "Prometheus")
        eventually(lambda: self.value("count(up == 1)") == len(self.targets) + 1, "the first scrape of everything", PATIENCE)

    def reload(self, job: str) -> None:
        """Has it read its configuration again, in which the job has this name."""
        self.write(job)
        self.processes[-1].send_signal(signal.SIGHUP)

    def destroy(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    # MARK: What it knows

    def query(self, expression: str, **more) -> list[dict]:
        answer = self.api.get("/api/v1/query?" + urllib.parse.urlencode({"query": expression} | more))
        assert answer.status == 200, (expression, str(answer))
        return answer.json["data"]["result"]

    def value(self, expression: str) -> float | None:
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else None

    def firing(self) -> list[Alert]:
        found = self.api.get("/api/v1/alerts").json["data"]["alerts"]
        return [Alert(each["labels"], each["annotations"]["summary"]) for each in found if each["state"] == "firing"]

    def fired(self, since: float) -> set[str]:
        """The names of all alerts that fired at some moment since then."""
        seconds = int(time.time() - since) + 1
        found = self.query(f'count by (alertname) (last_over_time(ALERTS{{alertstate="firing"}}[{seconds}s]))')
        return {each["metric"]["alertname"] for each in found}

    def await_alert(self, name: str, labels: dict[str, str]) -> Alert:
        def found() -> Alert | None:
            return next((each for each in self.firing() if each.name == name and labels.items() <= each.labels.items()), None)

        return eventually(found, f"the alert {name} with {labels}", PATIENCE)

    def await_end(self, name: str) -> None:
        eventually(lambda: name not in {each.name for each in self.firing()}, f"the end of {name}", PATIENCE)

    def await_quiet(self) -> None:
        """Until nothing fires, and nothing waits to."""

        def is_quiet() -> bool:
            return not self.api.get("/api/v1/alerts").json["data"]["alerts"]

        deadline = time.monotonic() + PATIENCE
        while not is_quiet():
            assert time.monotonic() < deadline, f"still firing: {sorted({str(each) for each in self.firing()})}"
            time.sleep(0.5)
