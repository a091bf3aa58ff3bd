"""What a release is made from in tests: a base in a registry on this machine, and a Swift that builds nothing."""

import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import handbook
from packages import run
from pinledger import BINARY, eventually, free_port
from release_tree import DATED, OpenPGPKey, Tree


class Registry:
    """A registry of images, with one image: the base of releases."""

    def __init__(self, home: Path, root: Path):
        home.mkdir()
        address = f"127.0.0.1:{free_port()}"
        settings = home / "registry.yml"
        settings.write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {home}/images}}}}\nhttp: {{addr: '{address}'}}\n")  # fmt: skip
        with open(home / "log", "w") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", settings], stdout=log, stderr=log)
        eventually(lambda: self.answers(f"http://{address}/v2/"), "the registry")
        # It speaks HTTP.
        self.trusted = home / "registries.conf"
        self.trusted.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        self.base = f"{address}/debian:bookworm-slim"
        self.put(home, root)
        digest = run("skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", f"docker://{self.base}").strip()
        self.base_by_digest = f"{address}/debian@{digest}"

    @staticmethod
    def answers(url: str) -> bool:
        try:
            return urllib.request.urlopen(url, timeout=300).status == 200
        except urllib.error.URLError:
            return False

    def put(self, home: Path, root: Path) -> None:
        """An image of what is in a directory, without what is mounted there."""
        buildah = ["buildah", "--storage-driver", "vfs", "--root", home / "storage", "--runroot", home / "run"]
        run("tar", "--create", "--directory", root, "--one-file-system", "--exclude", "./proc/*", "--file", home / "root.tar", ".")
        container = run(*buildah, "from", "scratch").strip()
        run(*buildah, "add", "--quiet", container, home / "root.tar", "/")
        image = run(*buildah, "commit", "--quiet", container).strip()
        run(*buildah, "push", "--quiet", "--tls-verify=false", image, f"docker://{self.base}")
        run(*buildah, "rm", container)
        run(*buildah, "rmi", image)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=300)


class Workshop:
    """A tree from which a release can be made, with its key."""

    def __init__(self, home: Path, registry: Registry):
        self.home, self.registry = home, registry
        self.key = OpenPGPKey(home / "gnupg")
        self.tree = Tree(home / "tree")
        self.version = self.tree.version
        (self.tree.root / "deploy/release/keys.asc").write_text(self.key.public)
        changelog = (self.tree.root / "CHANGELOG.md").read_text()
        dated = re.sub(rf"^## {re.escape(self.version)} \(.*\)$", f"## {self.version} {DATED}", changelog, count=1, flags=re.M)
        (self.tree.root / "CHANGELOG.md").write_text(dated)
        shutil.copy(handbook.ROOT / "Package.resolved", self.tree.root)
        self.tree.commit("Package.resolved")
        # A release build takes half an hour, and packages are made of any program.
        programs = home / "programs"
        programs.mkdir()
        (programs / "swift").write_text(
            f'#!/bin/sh\n[ "$1" = build ] || exec {shutil.which("swift")} "$@"\n'
            f"mkdir -p .build-package/release && ln -sf {BINARY} .build-package/release/pinledger\n"
            'eval "${DURING_BUILD:-}"\n'
        )
        # Compression takes minutes, and changes nothing else.
        (programs / "dpkg-deb").write_text(f'#!/bin/bash\nexec {shutil.which("dpkg-deb")} "${{@/#-Zxz/-Znone}}"\n')
        for name in ("swift", "dpkg-deb"):
            (programs / name).chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}", "CONTAINERS_REGISTRIES_CONF": str(registry.trusted),
        }  # fmt: skip

    def copy(self, name: str) -> Tree:
        """The same commit in another directory."""
        copy = Tree.__new__(Tree)
        copy.root = self.home / name
        shutil.copytree(self.tree.root, copy.root, symlinks=True)
        return copy

    def make(self, tree: Tree, **variables: str) -> subprocess.CompletedProcess:
        given = {"RELEASE_KEY": self.key.fingerprint, "GNUPGHOME": str(self.key.home), "BASE_IMAGE": self.registry.base_by_digest}
        return tree.release(**given | self.environment | variables)

    def release(self, tree: Tree, **variables: str) -> Path:
        done = self.make(tree, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return tree.root / "dist" / self.version

    def rehearse(self, tree: Tree) -> Path:
        done = tree.release(
            "--rehearse", "--program", BINARY, RELEASE_KEY="", BASE_IMAGE=self.registry.base, **self.environment
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return tree.root / "dist" / f"{self.version}~rehearsal"
