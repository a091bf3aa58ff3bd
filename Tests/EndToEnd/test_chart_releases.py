"""Releases of the Helm chart in a cluster: what Helm asks its API for, in which order, and what stays."""

import json
import subprocess
import uuid

import chart
import pytest
from cluster_api import ClusterAPI
from databases import Database

pytestmark = pytest.mark.skipif(not chart.HELM.exists(), reason="the wheel with helm is for Linux on x86-64")


class Releases:
    """Runs Helm, which keeps its releases in a database: secrets of the API would need another coding than JSON."""

    def __init__(self, api: ClusterAPI, package, home, database: Database):
        self.api, self.package = api, package
        self.environment = {"HOME": str(home), "KUBECONFIG": "/dev/null", "PATH": "/usr/bin:/bin", "HELM_DRIVER": "sql"}
        self.environment["HELM_DRIVER_SQL_CONNECTION_STRING"] = f"{database.superuser} sslmode=disable"

    def helm(self, *words: str, values: dict | None = None) -> subprocess.CompletedProcess:
        command = [chart.HELM, *words, "--namespace", "pinledger", "--kube-apiserver", self.api.url]
        if values is not None:
            command += ["--values", "-"]
        self.api.seen.clear()
        return subprocess.run(command, env=self.environment, input=json.dumps(values), capture_output=True, text=True, timeout=300)

    def apply(self, command: str, values: dict, release: str = "pinledger") -> subprocess.CompletedProcess:
        return self.helm(command, release, str(self.package), values=values)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return chart.pack(tmp_path_factory.mktemp("chart"))


@pytest.fixture
def releases(own_server, package, tmp_path):
    api = ClusterAPI()
    one = Releases(api, package, tmp_path, Database.make(own_server, f"helm{uuid.uuid4().hex}", like="template0"))
    done = one.apply("install", {})
    assert done.returncode == 0, done.stderr
    one.installed = done.stdout
    yield one
    api.close()


def test_an_installation_migrates_first_and_says_what_comes_next(releases):
    job = ("POST", "jobs", "pinledger-migrate")
    assert releases.api.seen[0] == job and releases.api.seen.count(job) == 1 and len(releases.api.seen) > 20
    assert ("POST", "statefulsets", "pinledger") in releases.api.seen
    assert "pinledger token bootstrap --kek-file /run/kek/kek --code" in releases.installed


def test_an_upgrade_migrates_first_and_changes_only_what_the_values_change(releases):
    server = releases.api.objects["statefulsets", "pinledger"]
    checksum = server["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
    done = releases.apply("upgrade", {"servers": {"replicas": 3, "settings": {"vantage": "cluster"}}})
    assert done.returncode == 0, done.stderr
    changes = list(releases.api.seen)
    assert changes[:2] == [("DELETE", "jobs", "pinledger-migrate"), ("POST", "jobs", "pinledger-migrate")]
    assert sorted(changes[2:]) == [("PATCH", "configmaps", "pinledger-settings"), ("PATCH", "statefulsets", "pinledger")]
    server = releases.api.objects["statefulsets", "pinledger"]
    assert server["spec"]["replicas"] == 3
    assert server["spec"]["template"]["metadata"]["annotations"]["checksum/settings"] != checksum


def test_a_migration_that_fails_leaves_everything_as_it_is(releases):
    releases.api.jobs_fail = True
    done = releases.apply("upgrade", {"image": {"tag": "9.9.9"}})
    assert done.returncode != 0 and "pre-upgrade hooks failed" in done.stderr
    assert {plural for _, plural, _ in releases.api.seen} == {"jobs"}


def test_a_changed_size_is_refused_until_the_stateful_set_is_deleted_as_the_page_says(releases):
    larger = {"servers": {"storage": {"size": "10Gi"}}}
    done = releases.apply("upgrade", larger)
    assert done.returncode != 0 and "StatefulSet pinledger is invalid" in done.stderr
    # kubectl delete --cascade=orphan
    del releases.api.objects["statefulsets", "pinledger"]
    done = releases.apply("upgrade", larger)
    assert done.returncode == 0, done.stderr
    [claim] = releases.api.objects["statefulsets", "pinledger"]["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "10Gi"


def test_a_namespace_has_one_release(releases):
    done = releases.apply("install", {}, release="other")
    assert done.returncode != 0 and "cannot be imported into the current release" in done.stderr
    assert [one for one in releases.api.seen if one[0] == "PATCH"] == []


def test_an_uninstalled_release_leaves_the_reports_of_the_check(releases):
    done = releases.helm("uninstall", "pinledger")
    assert done.returncode == 0, done.stderr
    left = {key for key in releases.api.objects if key[0] != "jobs"}
    assert left == {("persistentvolumeclaims", "pinledger-fsck")}
