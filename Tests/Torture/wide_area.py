"""Places far from each other: a network namespace each, and packets between them that take their time.

The kernel's own delay (netem) is missing in many kernels, so `relay.py` holds the packets. A namespace has no name and ends
with the last process in it. Whatever is opened or started inside ``WideArea.inside`` is in that place: sockets, threads,
processes.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from report import Impossible
from stage import Stage

NETWORK = "10.77.0"
_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_HERE = "/proc/thread-self/ns/net"
#: From linux/if_tun.h: TUNSETIFF, and a device of IP packets without a header of its own.
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


@dataclass(frozen=True)
class Link:
    """What a packet meets on its way from one place to another."""

    #: One way, in seconds.
    delay: float
    #: The share of packets that is lost.
    loss: float = 0.0
    #: Bits a second; 0: any number.
    rate: float = 0.0


def _enter(namespace: int) -> None:
    if _LIBC.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class WideArea:
    """Places by name. The last one that is named reaches all others without delay, whatever is cut: it is for who measures."""

    def __init__(self, stage: Stage, *names: str):
        if os.geteuid() != 0 or not Path("/dev/net/tun").exists() or shutil.which("ip") is None:
            raise Impossible("network namespaces need root, /dev/net/tun and iproute2")
        self.names, self.observer = names[:-1], names[-1]
        self.addresses = {name: f"{NETWORK}.{number}" for number, name in enumerate(names, 1)}
        self._links: dict[tuple[str, str], Link] = {}
        self._cut: set[str] = set()
        self._lock = threading.Lock()
        self._namespaces: dict[str, int] = {}
        stage.on_exit(self._close)
        devices = {self._make(name): self.addresses[name] for name in names}
        self._relay = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("relay.py")), *(f"{fd}={place}" for fd, place in devices.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=tuple(devices), start_new_session=True,
        )  # fmt: skip
        for device in devices:
            os.close(device)
        self.link({})

    def _make(self, name: str) -> int:
        """A namespace with a loopback and a TUN device, which is returned."""
        before = os.open(_HERE, os.O_RDONLY)
        try:
            if _LIBC.unshare(_CLONE_NEWNET) != 0:
                raise Impossible(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}")
            self._namespaces[name] = os.open(_HERE, os.O_RDONLY)
            device = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"wide0", _IFF_TUN | _IFF_NO_PI))
            for command in (
                "link set lo up", f"address add {self.addresses[name]}/24 dev wide0", "link set wide0 up txqueuelen 10000"
            ):  # fmt: skip
                subprocess.run(["ip", *command.split()], check=True)
            return device
        finally:
            _enter(before)
            os.close(before)

    def _close(self) -> None:
        if relay := getattr(self, "_relay", None):
            relay.kill()
            relay.wait()
        for namespace in self._namespaces.values():
            os.close(namespace)

    @contextlib.contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """For this thread, and for the threads and processes that it starts meanwhile."""
        before = os.open(_HERE, os.O_RDONLY)
        try:
            _enter(self._namespaces[name])
            yield
        finally:
            _enter(before)
            os.close(before)

    # MARK: Links

    def link(self, links: dict[tuple[str, str], Link]) -> None:
        """The links between places from now on, each for both directions; those that are not named have no delay."""
        with self._lock:
            self._links = links
            self._apply()

    def cut(self, *names: str) -> None:
        """Nothing passes between these places and the others, nor among them, and nothing is refused: packets are lost."""
        with self._lock:
            self._cut |= set(names)
            self._apply()

    def heal(self, *names: str) -> None:
        with self._lock:
            self._cut -= set(names)
            self._apply()

    def _apply(self) -> None:
        told = {}
        for one, address in self.addresses.items():
            for other, there in self.addresses.items():
                is_watched = self.observer in (one, other)
                if one != other and (is_watched or not {one, other} & self._cut):
                    link = self._links.get((one, other)) or self._links.get((other, one)) or Link(0)
                    told[f"{address} {there}"] = [link.delay, link.loss, link.rate]
        assert self._relay.stdin and self._relay.stdout
        self._relay.stdin.write(json.dumps(told) + "\n")
        self._relay.stdin.flush()
        if self._relay.stdout.readline() != "changed\n":
            raise RuntimeError("the relay has ended")
