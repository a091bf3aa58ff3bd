"""A process of the lab: a server, a read-only node or an edge, with TLS on every address, a configuration file and a log in JSON."""

import contextlib
import http.client
import signal
from pathlib import Path

import yaml
from authority import Authority, replace
from pinledger import API, Process, free_port


class SecureAPI(API):
    """The HTTP API over TLS, of a server whose authority is the lab's."""

    def __init__(self, port: int, token: str | None, authority: Authority):
        super().__init__(port, token)
        self.context = authority.context

    @contextlib.contextmanager
    def connected(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=120, context=self.context)
        try:
            yield connection
        finally:
            connection.close()


class Service(Process):
    def __init__(
        self, name: str, directory: Path, authority: Authority, token: str | None, settings: dict, *, state: Path | None = None,
        command: tuple[str, ...] = ("serve",), environment: dict | None = None,
    ):  # fmt: skip
        self.name, self.home = name, directory / name
        self.home.mkdir()
        self.certificate, self.key = authority.issue(name)
        self.state = state or self.home / "state"
        listen, metrics = free_port(), free_port()
        self.settings = {
            "listen": f"127.0.0.1:{listen}", "metrics_listen": f"127.0.0.1:{metrics}",
            "tls_certificate": str(self.certificate), "tls_key": str(self.key), "state_directory": str(self.state),
            "log_format": "json", "access_log": str(self.home / "access.log"),
            # All that ask come from one network here.
            "connections_per_network": 0, "streams_per_network": 0, "requests_per_network": 0,
        } | settings  # fmt: skip
        #: The addresses for operators, and for clients.
        operators = listen
        if command == ("serve",) and not settings.get("read_only"):
            operators = free_port()
            self.settings["admin_listen"] = f"127.0.0.1:{operators}"
        self.api, self.clients = SecureAPI(operators, token, authority), SecureAPI(listen, None, authority)
        self.instance = self.settings["metrics_listen"]
        self.file = self.home / "settings.yaml"
        self.write()
        super().__init__(self.home / "log", [*command, "--config", str(self.file)], operators, environment)
        # The wait of a change for the database is part of what is tried, and only a moved clock takes the library.
        self.environment.pop("PINLEDGER_DATABASE_TIMEOUT")
        if not environment:
            self.environment.pop("LD_PRELOAD")
        # As with the package, which has no program that writes backtraces.
        self.environment["SWIFT_BACKTRACE"] = "enable=no"

    def write(self, **changes) -> None:
        """Writes the file; a setting that is None is left out."""
        self.settings |= changes
        replace(self.file, yaml.safe_dump({name: value for name, value in self.settings.items() if value is not None}).encode())

    def is_ready(self) -> bool:
        return self.api.get("/readyz").status == 200

    def start(self, *once: str, until=None) -> "Service":
        """Starts; `once` are flags of this start alone."""
        lasting = list(self.arguments)
        self.arguments += once
        try:
            self.spawn()
        finally:
            self.arguments = lasting
        self.wait_until(until or self.is_ready)
        return self

    def restart(self, until=None, **changes) -> "Service":
        if self.is_running:
            self.stop()
        self.write(**changes)
        return self.start(until=until)

    def reload(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def destroy(self) -> None:
        if self.is_running:
            self.kill()
