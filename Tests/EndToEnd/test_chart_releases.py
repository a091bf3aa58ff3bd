"""Releases of the Helm chart in a cluster: what Helm asks its API for, in which order, and what stays."""

import json
import subprocess
import uuid

import chart
import handbook
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


def settings_map(releases: Releases, name: str) -> str:
    """The name of the config map with the settings of a stateful set's pods."""
    volumes = releases.api.objects["statefulsets", name]["spec"]["template"]["spec"]["volumes"]
    return next(volume["configMap"]["name"] for volume in volumes if volume["name"] == "settings")


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
    before = settings_map(releases, "pinledger")
    done = releases.apply("upgrade", {"servers": {"replicas": 3, "settings": {"vantage": "cluster"}}})
    assert done.returncode == 0, done.stderr
    changes = list(releases.api.seen)
    assert changes[:2] == [("DELETE", "jobs", "pinledger-migrate"), ("POST", "jobs", "pinledger-migrate")]
    # The settings that pods have are made after the migration, before what names them; those of the servers are new.
    after, readers = settings_map(releases, "pinledger"), settings_map(releases, "pinledger-reader")
    made = [("DELETE", "configmaps", readers), ("POST", "configmaps", readers), ("POST", "configmaps", after)]
    assert sorted(changes[2:-1]) == sorted(made) and changes[-1] == ("PATCH", "statefulsets", "pinledger")
    assert releases.api.objects["statefulsets", "pinledger"]["spec"]["replicas"] == 3
    # Pods of the earlier template, which start again before they are replaced, still find theirs.
    assert before != after and {("configmaps", before), ("configmaps", after)} <= releases.api.objects.keys()


def test_a_refused_upgrade_leaves_the_pods_the_settings_that_they_have(releases):
    before = settings_map(releases, "pinledger")
    kept = releases.api.objects["configmaps", before]["data"]
    done = releases.apply("upgrade", {"servers": {"storage": {"size": "10Gi"}, "settings": {"vantage": "cluster"}}})
    assert done.returncode != 0 and "StatefulSet pinledger is invalid" in done.stderr
    assert settings_map(releases, "pinledger") == before and releases.api.objects["configmaps", before]["data"] == kept


def test_a_rollback_brings_back_the_settings(releases):
    before = settings_map(releases, "pinledger")
    assert releases.apply("upgrade", {"servers": {"settings": {"vantage": "cluster"}}}).returncode == 0
    del releases.api.objects["configmaps", before]
    done = releases.helm("rollback", "pinledger")
    assert done.returncode == 0, done.stderr
    assert settings_map(releases, "pinledger") == before and ("configmaps", before) in releases.api.objects


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


def test_a_changed_class_of_the_reports_is_refused_until_their_claim_is_deleted_as_the_page_says(releases):
    other = {"fsck": {"storage": {"class": "fast"}}}
    done = releases.apply("upgrade", other)
    assert done.returncode != 0 and "PersistentVolumeClaim pinledger-fsck is invalid" in done.stderr
    assert "kubectl delete persistentvolumeclaim/pinledger-fsck" in handbook.text("containers")
    del releases.api.objects["persistentvolumeclaims", "pinledger-fsck"]
    done = releases.apply("upgrade", other | {"fsck": {"storage": {"class": "fast", "size": "2Gi"}}})
    assert done.returncode == 0, done.stderr
    assert releases.api.objects["persistentvolumeclaims", "pinledger-fsck"]["spec"]["storageClassName"] == "fast"
    assert releases.apply("upgrade", {"fsck": {"storage": {"class": "fast", "size": "3Gi"}}}).returncode == 0
    assert releases.apply("upgrade", {"fsck": {"storage": {"class": "fast", "size": "2Gi"}}}).returncode != 0


def test_a_namespace_has_one_release(releases):
    done = releases.apply("install", {}, release="other")
    assert done.returncode != 0 and "cannot be imported into the current release" in done.stderr
    assert [one for one in releases.api.seen if one[0] == "PATCH"] == []


def test_an_uninstalled_release_leaves_the_reports_of_the_check_and_settings(releases):
    done = releases.helm("uninstall", "pinledger")
    assert done.returncode == 0, done.stderr
    left = {key for key in releases.api.objects if key[0] != "jobs"}
    assert {key for key in left if key[0] != "configmaps"} == {("persistentvolumeclaims", "pinledger-fsck")}
    assert {name.rpartition("-")[0] for plural, name in left if plural == "configmaps"} == {"pinledger-settings", "pinledger-reader-settings"}
