"""The Debian package: what is in it, what its units allow, and that it serves, by the commands of its units.

It is made of the tests' own build: a release build has its own time. Daily: it takes minutes of a core. Tests/Lint checks its units.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import handbook
import pytest
from databases import Database
from edges import Site, secret
from packages import PACKAGE, build, run
from pinledger import BINARY, API, Process, eventually, free_port
from tls_server import Key, TLSServer

pytestmark = pytest.mark.daily
#: Of the tests' build alone: it is not compressed, and uses Swift's libraries of this machine.
OF_THE_BUILD = "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball,custom-library-search-path"


@pytest.fixture(scope="module")
def tree(package, tmp_path_factory) -> Path:
    """What the package installs."""
    tree = tmp_path_factory.mktemp("tree")
    run("dpkg-deb", "-x", package, tree)
    return tree


def test_the_same_program_makes_the_same_package(package, tree, tmp_path):
    # Of the program that was stripped for the first one.
    again = build(tree / "usr/bin/pinledger", tmp_path)
    digests = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (package, again)}
    assert len(digests) == 1


def test_lintian_finds_nothing_wrong_with_the_package(package):
    run("lintian", "--fail-on", "error,warning", "--suppress-tags", OF_THE_BUILD, "--allow-root", package)


def test_the_package_asks_for_the_libraries_of_the_program(package):
    depends = run("dpkg-deb", "-f", package, "Depends")
    for name in ("libpq5", "libssl3", "libsodium23", "libc6", "libmaxminddb0"):
        assert re.search(rf"\b{name}\b \(>= ", depends), depends
    assert "swift" not in depends
    assert run("dpkg-deb", "-I", package, "conffiles").split() == [
        f"/etc/pinledger/{name}.yaml" for name in ("edge", "pinledger", "reader")]


def test_every_command_has_a_manual_page(tree):
    pages = {path.name.removesuffix(".1.gz") for path in (tree / "usr/share/man/man1").iterdir()}
    commands = json.loads(run(BINARY, "--experimental-dump-help"))["command"]["subcommands"]
    assert pages == {"pinledger"} | {f"pinledger-{each['commandName']}" for each in commands if each["commandName"] != "help"}
    text = run("zcat", tree / "usr/share/man/man1/pinledger-serve.1.gz")
    assert "\\-\\-admin\\-listen <host:port>" in text and ".SH NAME\npinledger\\-serve \\- " in text


def test_the_bash_completion_is_read_by_bash(tree):
    file = tree / "usr/share/bash-completion/completions/pinledger"
    said = run("bash", "-c", f"source {shlex.quote(str(file))}; complete -p pinledger")
    assert "pinledger" in said


def test_the_bill_of_parts_names_what_the_program_is_made_of(tmp_path):
    resolved = handbook.ROOT / "Package.resolved"
    run(PACKAGE / "sbom", BINARY, resolved, tmp_path / "bill.json", env=os.environ | {"SOURCE_DATE_EPOCH": "1767225600"})
    bill = json.loads((tmp_path / "bill.json").read_text())
    names = {part["name"]: part for part in bill["components"]}
    assert {"swift-nio", "swift-crypto", "libpq5", "libssl3"} <= names.keys()
    assert names["swift-nio"]["purl"].startswith("pkg:swift/github.com/apple/swift-nio@")
    assert bill["metadata"]["timestamp"] == "2026-01-01T00:00:00Z"
    pinned = {pin["identity"] for pin in json.loads(resolved.read_text())["pins"]}
    assert pinned <= names.keys()


def command_of(unit: str, tree: Path) -> list[str]:
    """The command of a unit, with the paths of the unpacked package."""
    text = (tree / "usr/lib/systemd/system" / unit).read_text()
    line = re.search(r"^ExecStart=(.*)$", text, re.M)[1]
    return [word.replace("/usr/bin/", f"{tree}/usr/bin/").replace("/etc/", f"{tree}/etc/") for word in shlex.split(line)]


def credentials(unit: str, tree: Path, files: dict[str, Path], place: Path) -> Path:
    """What the service manager passes to a unit: its credentials, in a directory."""
    place.mkdir()
    text = (tree / "usr/lib/systemd/system" / unit).read_text()
    for name, _ in re.findall(r"^LoadCredential=(\w+):(\S+)$", text, re.M):
        secret(place / name, files[name].read_text())
    return place


class Unit(Process):
    """The command of a unit, with its credentials."""

    def __init__(self, unit: str, tree: Path, home: Path, port: int, files: dict[str, Path], settings: dict[str, str]):
        environment = {f"PINLEDGER_{name.upper()}": value for name, value in settings.items()} | {
            "CREDENTIALS_DIRECTORY": str(credentials(unit, tree, files, home / f"{unit}-credentials"))
        }
        super().__init__(home / f"{unit}.log", command_of(unit, tree)[1:], port, environment)
        # As the service manager starts it: what takes a capability fails here too.
        self.prefix = ["setpriv", "--bounding-set=-all,+dac_override", "--inh-caps=-all", "--no-new-privs"] if os.getuid() == 0 else []
        self.api = API(port, None)


def test_the_command_of_the_server_s_unit_serves(own_server, tree, tmp_path):
    database = Database.make(own_server, "packaged")
    state = ["--state-directory", str(tmp_path / "state")]
    token = database.bootstrap("--kek-file", str(database.key), *state)
    port = free_port()
    unit = Unit(
        "pinledger.service", tree, tmp_path, port, {"kek_file": database.key},
        {"database": database.connection_string, "listen": f"127.0.0.1:{port}", "admin_listen": f"127.0.0.1:{free_port()}",
         "metrics_listen": f"127.0.0.1:{free_port()}", "state_directory": state[1], "allow_private_range": "127.0.0.0/8",
         "resolve": "api.example.com=127.0.0.1"},
    )  # fmt: skip
    unit.spawn()
    unit.wait_until(lambda: unit.api.get("/readyz?for=writes").status == 200)
    operators = API(int(unit.environment["PINLEDGER_ADMIN_LISTEN"].split(":")[1]), token)
    operators.make_app("com.example.packaged")
    eventually(lambda: unit.api.document("com.example.packaged").status == 200, "the document")
    key = Key(tmp_path, "served", "api.example.com")
    served = TLSServer(key)
    seen = operators.must("POST", "/v1/probes", {"endpoint": f"api.example.com:{served.port}"}).json
    assert key.pin in json.dumps(seen), seen
    served.close()
    unit.stop()
    # A read-only node has a login of its own, and no key.
    own_server.sql("CREATE ROLE packaged_reader LOGIN; GRANT pinledger_reader TO packaged_reader")
    port = free_port()
    reader = Unit(
        "pinledger-reader.service", tree, tmp_path, port, {},
        {"database": database.connection_string.replace("user=pinledger_dev", "user=packaged_reader"), "listen": f"127.0.0.1:{port}",
         "metrics_listen": f"127.0.0.1:{free_port()}", "state_directory": str(tmp_path / "reader-state")},
    )  # fmt: skip
    reader.arguments.append("--trust-database")
    reader.spawn()
    reader.wait_until(lambda: reader.api.get("/readyz?for=serves_documents").status == 200)
    assert reader.api.document("com.example.packaged").status == 200
    reader.stop()
    # And that of the nightly check, twice: the second one has an earlier report.
    reports = tmp_path / "reports"
    reports.mkdir()
    place = credentials("pinledger-fsck.service", tree, {"kek_file": database.key}, tmp_path / "fsck-credentials")
    environment = os.environ | {"CREDENTIALS_DIRECTORY": str(place), "PINLEDGER_DATABASE": database.connection_string}
    for _ in range(2):
        run(*command_of("pinledger-fsck.service", tree), cwd=reports, env=environment)
        assert json.loads((reports / "report.json").read_text())["status"] == "clean"


@pytest.mark.parametrize(
    ("migrations", "restarted"), [("all", ["pinledger", "pinledger-reader", "pinledger-edge"]), ("none", ["pinledger-edge"])]
)  # fmt: skip
def test_an_upgrade_restarts_what_its_database_lets_start(own_server, tmp_path, migrations, restarted):
    database = own_server.connection_string
    if migrations == "none":
        subprocess.run(["createdb", "-h", f"{own_server.data}/postgresql", "-U", "postgres", "unmigrated"], check=True, timeout=300)
        database = database.replace("dbname=pinledger", "dbname=unmigrated")
    called = tmp_path / "called"
    # The programs of the machine, of which none is to be touched; settings of the package lie elsewhere.
    stubs = {
        "systemctl": "echo activating", "deb-systemd-invoke": f'echo "$2" >> {called}',
        "runuser": f'shift 3; shift; for word; do shift; case $word in /etc/pinledger/*) word={tmp_path}/settings.yaml;; esac;'
                   f' set -- "$@" "$word"; done; exec {BINARY} "$@"',
    }  # fmt: skip
    for name, body in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "settings.yaml").write_text(f"database: {database}\n")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [PACKAGE / "restart-upgraded"], env=environment, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0 and called.read_text().split() == [f"{unit}.service" for unit in restarted], done
    for unit in {"pinledger", "pinledger-reader"} - set(restarted):
        assert f"{unit}.service goes on with the earlier program" in done.stderr and f"systemctl restart {unit}\n" in done.stderr
    assert ("pending: 0001 roles" in done.stderr) == (migrations == "none")


def test_the_command_of_the_edge_s_unit_serves(tree, tmp_path):
    site = Site(tmp_path)
    try:
        port = free_port()
        unit = Unit(
            "pinledger-edge.service", tree, tmp_path, port, {"upstream_token_file": secret(tmp_path / "reader", site.reader.token)},
            {"upstream": f"http://127.0.0.1:{site.server.port}", "trusted_keys": str(site.keys), "listen": f"127.0.0.1:{port}",
             "metrics_listen": f"127.0.0.1:{free_port()}", "state_directory": str(tmp_path / "edge-state")},
        )  # fmt: skip
        unit.spawn()
        unit.wait_until(lambda: unit.api.get("/readyz").status == 200)
        app = "com.example.edge.one"
        assert unit.api.document(app).body == site.server.api.document(app).body
        unit.stop()
    finally:
        site.close()


def test_the_settings_of_the_package_can_be_used(tree):
    run(tree / "usr/bin/pinledger", "config", "check", "--config", tree / "etc/pinledger/pinledger.yaml")
