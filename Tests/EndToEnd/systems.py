"""A Debian that has nothing else, made by debootstrap, without systemd: it is what container images are made of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packages import run
from pinledger import BINARY

#: The mark of tests that make one: daily ones.
makes_a_system = pytest.mark.skipif(
    # address: it asks for the program alone
    os.getuid() != 0 or not shutil.which("debootstrap"), reason="making a system takes root and debootstrap"
)


class System:
    """A root directory with Debian's smallest system."""

    def __init__(self, root: Path):
        self.root = root
        release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
        # address: daily tests alone make a system
        run("debootstrap", "--variant=minbase", release["VERSION_CODENAME"], root, "http://deb.debian.org/debian")
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        # Services are not started where there is nothing to run them.
        self.inside("sh", "-c", "printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d")
        # The tests' program uses Swift's libraries of this machine.
        for line in run("ldd", BINARY).splitlines():
            library = Path(line.split("=>")[1].split()[0]) if "=>" in line else Path("/lib")
            if "swift" in str(library):
                place = root / library.relative_to("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library.resolve(), place)
        # Swift reads a program's arguments there. The mount is the last step: a fixture closes only what was made.
        run("mount", "-t", "proc", "proc", root / "proc")

    def close(self) -> None:
        run("umount", self.root / "proc")
        shutil.rmtree(self.root)

    def inside(self, *command: str, status: int = 0, user: str = "root") -> str:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["chroot", f"--userspec={user}", str(self.root), *command],
            env=environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def files(self) -> set[str]:
        """All that may be a package's, or of those that run it."""
        places = ("etc", "usr", "var/lib", "opt", "srv")
        found = (each for place in places for each in (self.root / place).rglob("*pinledger*"))
        return {str(each.relative_to(self.root)) for each in found} - {"var/lib/dpkg", "var/lib/apt"}
