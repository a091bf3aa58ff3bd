"""A repository like this one, in which a release is tried: the files as they stand, in one commit."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import handbook

DATED = "(2026-01-31)"


class Tree:
    """The files of this repository in a directory, as the only commit of another one."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir(parents=True)
        files = self.run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", at=handbook.ROOT).stdout
        for name in filter(None, files.split("\0")):
            if os.path.lexists(handbook.ROOT / name):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(handbook.ROOT / name, root / name, follow_symlinks=False)
        self.run("git", "init", "--quiet")
        self.commit()

    def run(self, *command, status: int | None = 0, at: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [str(word) for word in command], cwd=at or self.root, env=os.environ | environment, capture_output=True, text=True, timeout=3600
        )  # fmt: skip
        assert status is None or done.returncode == status, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done

    def commit(self, *forced: str) -> None:
        """Commits all files, and those named although they are ignored."""
        self.run("git", "add", "--all")
        if forced:
            self.run("git", "add", "--force", *forced)
        author = ("-c", "user.name=Release", "-c", "user.email=release@example.com", "-c", "commit.gpgsign=false")
        self.run("git", *author, "commit", "--quiet", "--allow-empty", "--message", "A tree for a release")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text, (name, old)
        (self.root / name).write_text(text.replace(old, new, 1))

    def release(self, *options: str, **environment: str) -> subprocess.CompletedProcess:
        return self.run("deploy/release/build", *options, status=None, **environment)

    @property
    def version(self) -> str:
        return self.run("deploy/release/versions", status=None).stdout.strip()


class OpenPGPKey:
    """A key of its own directory, without a passphrase."""

    def __init__(self, home: Path):
        self.home = home
        home.mkdir(mode=0o700)
        self.gpg("--passphrase", "", "--quick-generate-key", "Pinledger test release", "ed25519", "sign", "never")
        listed = self.gpg("--with-colons", "--list-secret-keys")
        self.fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
        self.public = self.gpg("--armor", "--export", self.fingerprint)

    def gpg(self, *arguments: str) -> str:
        done = subprocess.run(
            ["gpg", "--homedir", self.home, "--batch", "--quiet", *arguments], capture_output=True, text=True, timeout=600
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "all"], check=True, capture_output=True, timeout=600)


def page_commands(number: int) -> str:
    """One of the blocks on the page that says how to verify a download."""
    section = handbook.text("packages").split("\n## Verify a download\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)[number]


def follow(directory: Path, block: int) -> subprocess.CompletedProcess:
    """Runs a block of that page as a person does, whose shell goes on after errors: with the keys in a home directory, in the download."""
    home = directory.parent / "home"
    return subprocess.run(
        ["bash", "-c", page_commands(block)], cwd=directory, env=os.environ | {"HOME": str(home)}, capture_output=True, text=True, timeout=1800
    )  # fmt: skip


def save_keys(directory: Path, public: str) -> None:
    """Saves the keys where the page says, for a download in a directory."""
    home = directory.parent / "home"
    home.mkdir(exist_ok=True)
    (home / "pinledger-keys.asc").write_text(public)
