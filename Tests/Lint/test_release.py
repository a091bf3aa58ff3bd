"""A release, as far as files show: the version wherever it stands, the matrix of upgrades, and what a release refuses to begin with."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import handbook
import pytest
from release_tree import DATED, OpenPGPKey, Tree, follow, save_keys

SUMS, PROVENANCE = 0, 3
BASE = "docker.io/library/debian@sha256:" + "0" * 64


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Tree:
    return Tree(tmp_path_factory.mktemp("release") / "original")


@pytest.fixture
def tree(original, tmp_path) -> Tree:
    """A tree of the test's own."""
    copy = Tree.__new__(Tree)
    copy.root = tmp_path / "tree"
    shutil.copytree(original.root, copy.root, symlinks=True)
    return copy


def test_the_version_is_the_same_wherever_it_stands(original):
    done = original.run("deploy/release/versions")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout) and done.stderr == ""


def test_another_version_in_any_place_is_named_with_its_line(tree):
    version = tree.version
    places = [
        "Sources/CHandbook/pages/client-library.md", "Sources/CHandbook/pages/containers.md", "Sources/CHandbook/pages/packages.md",
        "Tests/Torture/next-version.patch", "deploy/compose.yaml", "deploy/image/Containerfile",
        "deploy/kubernetes/common/kustomization.yaml", "openapi/openapi.json", "openapi/openapi.yaml",
    ]  # fmt: skip
    for name in places:
        tree.edit(name, version, "7.8.9")
    done = tree.run("deploy/release/versions", status=1)
    named = re.findall(rf"^(\S+):\d+ has 7\.8\.9, and the program {re.escape(version)}$", done.stderr, re.M)
    assert sorted(named) == places and len(done.stderr.splitlines()) == len(places), done.stderr


def test_the_version_in_a_file_that_the_script_does_not_know_is_named(tree):
    (tree.root / "deploy/new.yaml").write_text(f"# New\nversion: {tree.version}\n")
    tree.commit()
    done = tree.run("deploy/release/versions", status=1)
    assert done.stderr.startswith("deploy/new.yaml:2 has the version where "), done.stderr


def test_a_new_version_is_written_everywhere_but_where_people_write(tree):
    done = tree.run("deploy/release/versions", "7.8.9", status=1)
    assert done.stdout == "7.8.9\n"
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "CHANGELOG.md", "README.md", "Sources/CHandbook/pages/upgrades.md"]  # fmt: skip
    assert tree.run("deploy/release/versions", "7.8", status=1).stderr == "7.8 is no version: write it as 1.2.3\n"
    # The contract in JSON is still that in YAML.
    assert json.loads((tree.root / "openapi/openapi.json").read_text())["info"]["version"] == "7.8.9"


def test_the_matrix_has_the_feature_level_and_the_last_migration_of_the_program(original):
    [row] = re.findall(rf"^\| {re.escape(original.version)} \|.*$", handbook.text("upgrades"), re.M)
    level = re.search(r"static let known: Int64 = (\d+)", (handbook.ROOT / "Sources/Pinning/Fleet/FeatureLevel.swift").read_text())[1]
    last = max(int(file.name[:4]) for file in (handbook.ROOT / "db/migrations").glob("*.sql"))
    assert [cell.strip() for cell in row.split("|")[3:5]] == [level, str(last)]


@pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg: deploy/install-packages --tests")
def test_a_release_names_all_that_it_needs_and_makes_nothing(tree, tmp_path):
    version = tree.version
    tree.edit("deploy/compose.yaml", version, "7.8.9")
    done = tree.release(RELEASE_KEY="", BASE_IMAGE="debian:bookworm-slim")
    assert (done.returncode, done.stdout, (tree.root / "dist").exists()) == (1, "", False)
    assert re.sub(r"\d+ has 7", "1 has 7", done.stderr) == f"""\
make release: the tree has changes that are not committed
make release: deploy/compose.yaml:1 has 7.8.9, and the program {version}
make release: {version} has no date in CHANGELOG.md: its section is `## {version} (unreleased)`, and that of a release has a day, as (2026-01-31)
make release: Package.resolved, which pins the parts of parts, is not committed: git add --force Package.resolved
make release: BASE_IMAGE names no digest: give the base of the image as docker.io/library/debian@sha256:…
make release: RELEASE_KEY names no key
make release REHEARSE=1 tries it out without a date and without a key
"""
    key = OpenPGPKey(tmp_path / "gnupg")
    try:
        tree.edit("deploy/compose.yaml", "7.8.9", version)
        tree.edit("CHANGELOG.md", "(unreleased)", DATED)
        resolved = {"originHash": hashlib.sha256((tree.root / "Package.swift").read_bytes()).hexdigest(), "pins": [], "version": 3}
        (tree.root / "Package.resolved").write_text(json.dumps(resolved))
        tree.commit("Package.resolved")
        tree.run("git", "tag", version, "HEAD~1")
        (tree.root / f"dist/{version}").mkdir(parents=True)
        ready = {"RELEASE_KEY": key.fingerprint, "GNUPGHOME": str(key.home), "BASE_IMAGE": BASE}
        done = tree.release("--program", "/bin/true", **ready)
        other = tree.run("git", "rev-parse", "HEAD~1").stdout.strip()
        assert (done.returncode, done.stderr) == (1, f"""\
make release: a release builds its program: --program is for rehearsals
make release: {version} is the tag of another commit, {other}: it is released already
make release: dist/{version} is there already
make release: deploy/release/keys.asc, by which people verify releases, does not have the key {key.fingerprint}: commit it there before
make release REHEARSE=1 tries it out without a date and without a key
""")  # fmt: skip
        assert list((tree.root / "dist").iterdir()) == [tree.root / f"dist/{version}"]
        unknown = tree.release(**ready | {"RELEASE_KEY": "none@example.com"})
        assert "make release: gpg has no secret key none@example.com\n" in unknown.stderr
    finally:
        key.close()


def test_a_rehearsal_refuses_changes_and_the_key_of_releases(tree):
    tree.edit("README.md", "Pinledger", "Pinledger ")
    done = tree.release("--rehearse", RELEASE_KEY="key")
    assert (done.returncode, done.stderr) == (1, """\
make release: the tree has changes that are not committed
make release: RELEASE_KEY signs no rehearsal: leave it out
""")  # fmt: skip


def test_a_release_refuses_changes_that_git_status_does_not_tell(tree):
    tree.run("git", "update-index", "--assume-unchanged", "README.md")
    tree.run("git", "update-index", "--skip-worktree", "LICENSE")
    tree.edit("README.md", "Pinledger", "Pinledger ")
    assert tree.run("git", "status", "--porcelain").stdout == ""
    done = tree.release("--rehearse", RELEASE_KEY="")
    assert done.returncode == 1 and done.stderr.endswith("--no-skip-worktree): LICENSE README.md\n"), done.stderr
    assert not (tree.root / "dist").exists()


@pytest.fixture
def key(tmp_path):
    made = OpenPGPKey(tmp_path / "gnupg")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def files(tmp_path) -> Path:
    """A directory with what a release signs."""
    made = tmp_path / "download"
    made.mkdir()
    (made / "pinledger_1.2.3-1_amd64.deb").write_text("the package of the release")
    for name in ("provenance.json", "Release"):
        (made / name).write_text(f"{name} of the release\n")
    write_sums(made)
    return made


def write_sums(directory: Path) -> None:
    sums = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in directory.glob("*.deb"))
    (directory / "SHA256SUMS").write_text("".join(sums))


def sign(directory: Path, key: OpenPGPKey, public: str) -> subprocess.CompletedProcess:
    keys = directory.parent / "keys.asc"
    keys.write_text(public)
    command = [handbook.ROOT / "deploy/release/sign", directory, key.fingerprint, keys]
    return subprocess.run(command, env=os.environ | {"GNUPGHOME": str(key.home)}, capture_output=True, text=True, timeout=300)


needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg: deploy/install-packages --tests")


@needs_gpg
def test_a_signature_that_the_committed_keys_do_not_verify_is_refused(files, key, tmp_path):
    assert sign(files, key, key.public).returncode == 0
    assert {file.name for file in files.iterdir()} > {"SHA256SUMS.asc", "provenance.json.asc", "InRelease"}
    for name in ("SHA256SUMS.asc", "provenance.json.asc", "InRelease"):
        (files / name).unlink()
    # gpg signs by the newest subkey.
    key.gpg("--passphrase", "", "--quick-add-key", key.fingerprint, "ed25519", "sign", "never")
    done = sign(files, key, key.public)
    assert done.returncode == 1 and "make release: keys.asc does not verify SHA256SUMS.asc" in done.stderr
    (files / "SHA256SUMS.asc").unlink()
    assert sign(files, key, key.gpg("--armor", "--export", key.fingerprint)).returncode == 0


@needs_gpg
def test_the_commands_of_the_page_accept_no_key_that_lies_in_the_download(files, key, tmp_path):
    assert sign(files, key, key.public).returncode == 0
    save_keys(files, key.public)
    done = follow(files, SUMS)
    assert done.returncode == 0 and "Good signature" in done.stderr and ".deb: OK" in done.stdout, done.stderr
    attacker = OpenPGPKey(tmp_path / "attacker")
    try:
        (files / "pinledger_1.2.3-1_amd64.deb").write_text("another package")
        write_sums(files)
        for name in ("SHA256SUMS.asc", "provenance.json.asc", "InRelease"):
            (files / name).unlink()
        assert sign(files, attacker, attacker.public).returncode == 0
        for name in ("keys.asc", "pinledger-keys.asc"):
            (files / name).write_text(attacker.public)
        attacker.gpg("--export", "--output", str(files / "pinledger.gpg"), attacker.fingerprint)
        for has_ring in (True, False):
            done = follow(files, SUMS)
            assert done.returncode != 0 and "No public key" in done.stderr, done.stderr
            assert "Good signature" not in done.stderr and "OK" not in done.stdout
            assert follow(files, PROVENANCE).returncode != 0
            if has_ring:
                (files.parent / "home/pinledger.gpg").unlink()
        # Without any saved keys there is nothing to verify by.
        (files.parent / "home/pinledger-keys.asc").unlink()
        done = follow(files, SUMS)
        assert done.returncode != 0 and "OK" not in done.stdout
    finally:
        attacker.close()


def test_a_version_without_a_section_or_a_row_is_refused(tree):
    version = tree.version
    for name, old, message in [
        ("Sources/CHandbook/pages/upgrades.md", f"| {version} |",
         f"the upgrade matrix in Sources/CHandbook/pages/upgrades.md has no row for {version}"),
        ("CHANGELOG.md", f"## {version} (", f"CHANGELOG.md has no section {version}"),
    ]:  # fmt: skip
        tree.edit(name, old, old.replace(version, "0.0.1"))
        assert tree.run("deploy/release/notes", version, "--undated", status=1).stderr == message + "\n"


def test_the_notes_are_the_section_and_the_row_of_their_version_alone(tree):
    version = tree.version
    page = tree.root / "Sources/CHandbook/pages/upgrades.md"
    page.write_text(re.sub(rf"(?m)^\| {re.escape(version)} \|.*$", f"| {version} | 0.0.1 | 7 | | 0.0.1 |", page.read_text()))
    (tree.root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} {DATED}\n\n### Added\n\n- New\n\n## 0.0.1 (2025-01-01)\n\n- Old\n")
    assert tree.run("deploy/release/notes", version).stdout == f"""\
# Pinledger {version} {DATED}

## Upgrade

- Upgrade from, while nodes run: 0.0.1
- Feature level: 7
- Back to, before the level is raised: 0.0.1

`pinledger handbook upgrades` has the steps.

### Added

- New
"""
