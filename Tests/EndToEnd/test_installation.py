"""The Debian package in a Debian that has nothing else: installed, used, and purged."""

import shutil
import stat

import pytest
from packages import run
from pinledger import BINARY
from systems import System, makes_a_system

pytestmark = [pytest.mark.daily, makes_a_system]


@pytest.fixture(scope="module")
def system(package, tmp_path_factory):  # noqa: F811
    made = System(tmp_path_factory.mktemp("system") / "root")
    try:
        shutil.copy(package, made.root / "tmp/pinledger.deb")
        made.inside("apt-get", "update", "-qq")
        made.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "/tmp/pinledger.deb")
        yield made
    finally:
        made.close()


def test_an_installed_package_runs_with_nothing_but_its_dependencies(system):
    assert system.inside("/usr/bin/pinledger", "--version").strip() == run(BINARY, "--version").strip()
    assert "not found" not in system.inside("ldd", "/usr/bin/pinledger")


def test_the_account_of_the_package_reads_settings_and_others_do_not(system):
    check = ("/usr/bin/pinledger", "config", "check", "--config", "/etc/pinledger/pinledger.yaml")
    system.inside(*check, user="pinledger:pinledger")
    entry = system.inside("getent", "passwd", "pinledger").strip().split(":")
    assert entry[5:] == ["/var/lib/pinledger", "/usr/sbin/nologin"] and int(entry[2]) < 1000
    for name in ("pinledger.yaml", "reader.yaml", "edge.yaml"):
        assert stat.S_IMODE((system.root / "etc/pinledger" / name).stat().st_mode) == 0o640
    refused = system.inside(*check, status=2, user="nobody:nogroup")
    assert "cannot be read" in refused


def test_settings_and_keys_survive_an_upgrade_and_a_removal_but_no_purge(system):
    key, settings = (system.root / "etc/pinledger" / name for name in ("kek", "pinledger.yaml"))
    key.write_text("secret")
    settings.write_text(settings.read_text() + "\nlog_level: debug\n")
    state = system.root / "var/lib/pinledger"
    state.mkdir(exist_ok=True)
    (state / "documents").write_text("x")
    changed = settings.read_text()
    # A file that an operator deleted stays so, and is no reason to fail.
    (system.root / "etc/pinledger/edge.yaml").unlink()
    # The same package again, as an upgrade installs it: over what is there, without a question.
    system.inside("dpkg", "--force-confold", "-i", "/tmp/pinledger.deb")
    assert settings.read_text() == changed and key.exists() and not (system.root / "etc/pinledger/edge.yaml").exists()
    system.inside("dpkg", "--remove", "pinledger")
    assert settings.read_text() == changed and key.exists() and (state / "documents").exists()
    assert not (system.root / "usr/bin/pinledger").exists()
    system.inside("dpkg", "--purge", "pinledger")
    assert system.files() == set()
    system.inside("getent", "passwd", "pinledger", status=2)
