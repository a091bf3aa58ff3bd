"""A release: made twice of one commit, verified and installed by the commands of the handbook, and refused where it was changed.

The program is that of the tests' build, and the base of the image is a system made here. Tests/Lint checks what a release refuses to
begin with.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import tarfile
from pathlib import Path

import handbook
import pytest
from packages import run
from pinledger import BINARY
from release_tree import OpenPGPKey, follow, page_commands, save_keys
from releases import Registry, Workshop
from systems import System, makes_a_system

pytestmark = [pytest.mark.daily, makes_a_system]
SUMS, APT, IMAGE, PROVENANCE = range(4)


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    made = System(tmp_path_factory.mktemp("release-system") / "root")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def registry(system, tmp_path_factory):
    made = Registry(tmp_path_factory.mktemp("registry") / "home", system.root)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def workshop(registry, tmp_path_factory):
    made = Workshop(tmp_path_factory.mktemp("workshop"), registry)
    try:
        yield made
    finally:
        made.key.close()


@pytest.fixture(scope="module")
def released(workshop) -> Path:
    return workshop.release(workshop.copy("one"))


@pytest.fixture(scope="module")
def rehearsed(workshop) -> Path:
    return workshop.rehearse(workshop.copy("rehearsal"))


@pytest.fixture
def download(released, workshop, tmp_path) -> Path:
    """A release as an operator has it, who has saved the keys from the repository."""
    copy = tmp_path / "download"
    # The files are large: a test that changes one replaces it.
    shutil.copytree(released, copy, copy_function=os.link)
    save_keys(copy, (workshop.tree.root / "deploy/release/keys.asc").read_text())
    return copy


def refused(directory: Path, block: int) -> str:
    done = follow(directory, block)
    assert done.returncode != 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def digests(directory: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in directory.iterdir()}


def replace(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    replace(file, bytes(content))


def unpack(archive: Path, place: Path) -> Path:
    with tarfile.open(archive) as content:
        content.extractall(place, filter="data")
    [directory] = place.iterdir()
    return directory


def architecture() -> str:
    return run("dpkg", "--print-architecture").strip()


def test_two_runs_of_one_commit_make_the_same_files_beside_ignored_files_and_other_variables(workshop, released):
    other = workshop.copy("another-directory")
    (other.root / ".git/info/exclude").write_text("*.own.yaml\n")
    for place in ("deploy/kubernetes/chart/templates", "deploy/kubernetes/servers", "deploy/backup", "Sources/pinledger"):
        (other.root / place / "not.own.yaml").write_text("kind: Secret\n")
    variables = {"VERSION_SUFFIX": "~own", "MAINTAINER": "Own <own@example.com>", "COMPRESSION": "gzip"}
    again = digests(workshop.release(other, **variables))
    once = digests(released)
    assert once.keys() == again.keys()
    assert {name for name in once if once[name] != again[name]} <= {"InRelease", "SHA256SUMS.asc", "provenance.json.asc"}


def test_a_tree_that_changes_while_a_release_is_made_signs_nothing(workshop):
    tree = workshop.copy("changing")
    author = "-c user.name=Other -c user.email=other@example.com -c commit.gpgsign=false"
    done = workshop.make(tree, DURING_BUILD=f"git -C {tree.root} {author} commit --quiet --allow-empty --message Later")
    assert done.returncode == 1 and "the tree is no longer as it was at the beginning" in done.stderr, done.stderr
    assert list((tree.root / "dist").iterdir()) == []


def test_a_release_has_every_kind_of_file(workshop, released):
    version, machine = workshop.version, architecture()
    assert {file.name for file in released.iterdir()} == {
        f"pinledger_{version}-1_{machine}.deb", f"pinledger_{version}-1_{machine}.cdx.json", f"pinledger-dbgsym_{version}-1_{machine}.deb",
        f"pinledger-image_{version}_{machine}.oci.tar", f"pinledger-image_{version}_{machine}.cdx.json",
        f"pinledger-image_{version}_{machine}.digest", f"pinledger-{version}.tgz", f"pinledger-source-{version}.tar.gz",
        f"pinledger-client-kit-{version}.tar.gz", f"pinledger-openapi-{version}.yaml", f"pinledger-openapi-{version}.json", "NOTES.md",
        "provenance.json", "provenance.json.asc", "SHA256SUMS", "SHA256SUMS.asc", "Packages", "Release", "InRelease",
    }  # fmt: skip
    assert {stat.S_IMODE(file.stat().st_mode) for file in released.iterdir()} == {0o644}


def test_the_commands_of_the_page_verify_a_release(download):
    for block in (SUMS, IMAGE, PROVENANCE):
        done = follow(download, block)
        assert done.returncode == 0, done.stdout + done.stderr
        if block != IMAGE:
            assert "Good signature" in done.stderr
    listed = {line.split()[1] for line in (download / "SHA256SUMS").read_text().splitlines()}
    of_signatures = {file.name for file in download.iterdir() if file.suffix == ".asc"} | {"InRelease", "SHA256SUMS"}
    assert listed == {file.name for file in download.iterdir()} - of_signatures


@pytest.mark.parametrize("pattern", ["*.deb", "*.oci.tar", "*.tgz", "pinledger-openapi-*.yaml", "*.cdx.json", "NOTES.md", "provenance.json"])
def test_a_file_that_was_changed_is_refused_by_its_digest(download, pattern):
    file = sorted(download.glob(pattern))[0]
    damage(file)
    assert f"{file.name}: FAILED" in refused(download, SUMS)


def test_digests_that_were_changed_are_refused_by_their_signature(download):
    file = next(download.glob("pinledger_*.deb"))
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    damage(file)
    sums = (download / "SHA256SUMS").read_text().replace(before, hashlib.sha256(file.read_bytes()).hexdigest())
    replace(download / "SHA256SUMS", sums.encode())
    assert "BAD signature" in refused(download, SUMS)


def test_the_signature_of_another_key_is_refused(download, tmp_path):
    other = OpenPGPKey(tmp_path / "other")
    try:
        for name in ("SHA256SUMS", "provenance.json"):
            signature = other.gpg("--armor", "--detach-sign", "--output", "-", str(download / name))
            replace(download / f"{name}.asc", signature.encode())
        assert "No public key" in refused(download, SUMS)
        assert "No public key" in refused(download, PROVENANCE)
    finally:
        other.close()


def test_a_provenance_that_was_changed_is_refused(download):
    follow(download, SUMS)
    damage(download / "provenance.json")
    assert "BAD signature" in refused(download, PROVENANCE)


def test_another_image_is_refused_by_the_digest(workshop, download, rehearsed):
    image = next(download.glob("*.oci.tar"))
    replace(image, next(rehearsed.glob("*.oci.tar")).read_bytes())
    assert "sha256:" in refused(download, IMAGE)


def in_system(system: System, status: int = 0) -> str:
    """Runs the commands of the page for apt in the system, below /srv/release."""
    (system.root / "etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
    return system.inside("bash", "-c", "cd /srv/release\n" + page_commands(APT), status=status)


def test_apt_installs_a_release_and_refuses_one_that_was_changed(system, download, workshop):
    place = system.root / "srv/release"
    assert follow(download, SUMS).returncode == 0
    shutil.copy(download.parent / "home/pinledger.gpg", system.root / "root")
    for name in ("Packages", "InRelease"):
        changed = shutil.copytree(download, place, copy_function=os.link)
        damage(changed / name)
        said = in_system(system, status=100)
        assert re.search("Hash Sum mismatch|BADSIG|Clearsigned file|signature", said), said
        assert not (system.root / "usr/bin/pinledger").exists()
        shutil.rmtree(place)
    shutil.copytree(download, place, copy_function=os.link)
    try:
        in_system(system)
        assert system.inside("pinledger", "--version").strip() == workshop.version
        shown = system.inside("dpkg-query", "--show", "--showformat", "${Version}", "pinledger")
        assert shown == f"{workshop.version}-1"
        bill = system.root / "usr/share/doc/pinledger/pinledger.cdx.json"
        assert bill.read_bytes() == next(download.glob("pinledger_*.cdx.json")).read_bytes()
    finally:
        system.inside("dpkg", "--purge", "pinledger")
        shutil.rmtree(place)


def test_the_image_runs_the_program_without_rights_and_its_bill_names_what_is_in_it(released, workshop, tmp_path):
    archive = next(released.glob("*.oci.tar"))
    about = json.loads(run("skopeo", "inspect", "--config", f"oci-archive:{archive}"))
    assert about["config"]["User"] == "10001:10001"
    assert about["config"]["Labels"]["org.opencontainers.image.version"] == workshop.version
    buildah = ["buildah", "--storage-driver", "vfs", "--root", tmp_path / "storage", "--runroot", tmp_path / "run"]
    container = run(*buildah, "from", f"oci-archive:{archive}").strip()
    try:
        inside = [*buildah, "run", "--isolation", "chroot", container, "--"]
        assert run(*inside, "pinledger", "--version").strip() == workshop.version
        assert run(*inside, "id", "--user").strip() == "10001"
        listed = run(*inside, "dpkg-query", "--show", "--showformat", "${Package} ${Version}\n")
        left = run(*inside, "find", "/var/log", "/var/lib/apt/lists", "-type", "f")
        assert "dpkg.log" not in left and "/lists/" not in left
    finally:
        run(*buildah, "rm", container)
        run(*buildah, "rmi", "--all", "--force")
    bill = json.loads(next(released.glob("pinledger-image_*.cdx.json")).read_text())
    named = {(part["name"], part["version"]) for part in bill["components"] if part.get("purl", "").startswith("pkg:deb/")}
    installed = {tuple(line.split()) for line in listed.splitlines()}
    assert named | {("pinledger", f"{workshop.version}-1")} == installed and len(named) > 80
    names = {part["name"] for part in bill["components"]}
    assert {"pinledger", "swift-nio", "openssl"} <= names
    digest = next(released.glob("*.digest")).read_text().strip()
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]


def test_a_registry_keeps_the_digest_of_the_image(released, registry, workshop):
    [command] = re.findall(r"^skopeo copy .*$", handbook.text("containers"), re.M)
    address = registry.base.split("/")[0]
    words = command.replace("registry.example.com", address).replace("skopeo copy", "skopeo copy --dest-tls-verify=false").split()
    run(*words, cwd=released)
    copied = run("skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", f"docker://{address}/pinledger:{workshop.version}")
    assert copied == next(released.glob("*.digest")).read_text()


def test_the_provenance_names_the_commit_the_base_and_every_file(released, workshop, registry):
    statement = json.loads((released / "provenance.json").read_text())
    assert (statement["_type"], statement["predicateType"]) == ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1")
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert f"sha256:{subjects.pop('image')}" == next(released.glob("*.digest")).read_text().strip()
    made_later = {"SHA256SUMS", "SHA256SUMS.asc", "provenance.json", "provenance.json.asc", "Packages", "Release", "InRelease"}
    assert subjects == {name: digest for name, digest in digests(released).items() if name not in made_later}
    built = statement["predicate"]["buildDefinition"]
    assert built["externalParameters"] == {
        "version": workshop.version, "rehearsal": False, "base": registry.base_by_digest,
        "commit": workshop.tree.run("git", "rev-parse", "HEAD").stdout.strip(),
    }  # fmt: skip
    parts = {one["uri"]: one["digest"] for one in built["resolvedDependencies"]}
    assert parts[f"docker://{registry.base_by_digest}"] == {"sha256": registry.base_by_digest.split(":")[-1]}
    assert len(parts) > 20 and all(parts.values())
    assert statement["predicate"]["runDetails"]["builder"]["version"]["swift"].startswith("Swift version ")


def test_the_kit_for_clients_checks_a_client_by_itself(released, tmp_path):
    kit = unpack(next(released.glob("pinledger-client-kit-*.tar.gz")), tmp_path) / "Tests/Conformance"
    said = run("python3", kit / "check", f"python=python3 {kit}/python/runner.py", env={"PATH": os.environ["PATH"]})
    counts = re.findall(r"(\d+) of (\d+)$", said, re.M)
    assert len(counts) == len(list((kit / "vectors").glob("*.json"))) and all(right == total != "0" for right, total in counts), said


def test_the_source_archive_has_the_files_of_the_commit(released, workshop, tmp_path):
    tree = unpack(next(released.glob("pinledger-source-*.tar.gz")), tmp_path)
    listed = set(filter(None, workshop.tree.run("git", "ls-tree", "-r", "-z", "--name-only", "HEAD").stdout.split("\0")))
    assert {str(file.relative_to(tree)) for file in tree.rglob("*") if file.is_symlink() or file.is_file()} == listed
    for form in ("yaml", "json"):
        contract = next(released.glob(f"pinledger-openapi-*.{form}")).read_bytes()
        assert contract == (tree / f"openapi/openapi.{form}").read_bytes()


def test_the_package_of_symbols_names_functions_of_the_program(released, tmp_path):
    for name in ("pinledger", "pinledger-dbgsym"):
        run("dpkg-deb", "--extract", next(released.glob(f"{name}_*.deb")), tmp_path)
    program = tmp_path / "usr/bin/pinledger"
    [build_id] = re.findall(r"Build ID: ([0-9a-f]+)", run("readelf", "--notes", program))
    symbols = tmp_path / f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    listed = run("nm", BINARY)
    address = re.search(r"^([0-9a-f]+) T main$", listed, re.M)[1]
    # The function has two names.
    names = set(re.findall(rf"^{address} T (\w+)$", listed, re.M))
    assert run("addr2line", "--functions", "--exe", symbols, address).splitlines()[0] in names
    # The stripped program names nothing.
    assert run("addr2line", "--functions", "--exe", program, address).splitlines()[0] not in names


def test_a_rehearsal_is_marked_everywhere_and_passes_for_no_release(rehearsed, workshop, tmp_path):
    marked = f"{workshop.version}~rehearsal"
    unnamed = {"NOTES.md", "provenance.json", "provenance.json.asc", "SHA256SUMS", "SHA256SUMS.asc", "Packages", "Release", "InRelease"}
    assert {file.name for file in rehearsed.iterdir() if marked not in file.name} == unnamed | {"rehearsal-key.asc"}
    for package in rehearsed.glob("*.deb"):
        assert run("dpkg-deb", "--field", package, "Version").strip() == f"{marked}-1"
    # dpkg takes any release for newer.
    run("dpkg", "--compare-versions", f"{marked}-1", "lt", f"{workshop.version}-1")
    assert "\nSuite: rehearsal\n" in (rehearsed / "Release").read_text()
    assert (rehearsed / "NOTES.md").read_text().startswith(f"# Pinledger {marked} (")
    parameters = json.loads((rehearsed / "provenance.json").read_text())["predicate"]["buildDefinition"]["externalParameters"]
    given = hashlib.sha256(Path(BINARY).read_bytes()).hexdigest()
    assert parameters["rehearsal"] is True and parameters["given_program"] == {"sha256": given}
    bills = [json.loads(file.read_text())["metadata"]["component"]["version"] for file in rehearsed.glob("*.cdx.json")]
    assert bills == [marked, marked]
    copy = tmp_path / "copy"
    shutil.copytree(rehearsed, copy, copy_function=os.link)
    save_keys(copy, (workshop.tree.root / "deploy/release/keys.asc").read_text())
    assert "No public key" in refused(copy, SUMS)
    save_keys(copy, (copy / "rehearsal-key.asc").read_text())
    assert follow(copy, SUMS).returncode == 0
    # Neither leaves anything half made.
    assert [file.name for file in rehearsed.parent.iterdir()] == [marked]
