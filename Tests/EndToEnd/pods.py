"""Pods without a cluster: each in a network and a file system of its own, with the mounts, arguments, variables and account of its manifest.

Connections between them go through relays, as a cluster's network lets them: to the pods of a service that are ready, and only where the network
policies allow it. It takes root.
"""

import contextlib
import ctypes
import itertools
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import handbook
import manifests
from databases import Database
from manifests import Place, container, ours, pod
from pinledger import BINARY, Process, eventually

NEW_NETWORK = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
#: The address that stands for the database, outside of the cluster.
DATABASE = "10.20.0.5"
POLICIES = manifests.of_kind("NetworkPolicy")
SERVICES = {one["metadata"]["name"]: one["spec"] for one in manifests.of_kind("Service") if one["spec"].get("clusterIP") != "None"}
ADDRESSES = {name: f"10.96.0.{number}" for number, name in enumerate(SERVICES, start=10)}


def inside(network: str, make):
    """What `make` makes in a network: a socket stays in the one in which it was made."""
    found: list = []

    def work() -> None:
        with open(f"/run/netns/{network}") as file:
            assert LIBC.setns(file.fileno(), NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
        found.append(make())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


class Pod:
    """A place in the cluster's network: a pod of a manifest, or a stranger without a program of its own."""

    def __init__(self, cluster: "Cluster", name: str, place: Place, workload: str | None = None):
        self.cluster, self.name, self.place, self.workload = cluster, name, place, workload
        self.network = f"pl-{os.getpid()}-{name}"[:60]
        self.home = cluster.home / name
        self.root = self.home / "root"
        self.process: Process | None = None
        subprocess.run(["ip", "netns", "add", self.network], check=True)
        run_inside = ["ip", "netns", "exec", self.network, "ip"]
        subprocess.run([*run_inside, "link", "set", "lo", "up"], check=True)
        for address in [*ADDRESSES.values(), DATABASE]:
            subprocess.run([*run_inside, "address", "add", f"{address}/32", "dev", "lo"], check=True)
        self.make_root()
        self.listeners = list(self.listen())

    def make_root(self) -> None:
        """A system with the program, the names of the services and the pod's mounts, and nothing else that it could write to."""
        for name in ("usr", "opt", "proc", "dev", "etc/ssl", "app", "tmp"):
            (self.root / name).mkdir(parents=True)
        (self.root / "tmp").chmod(0o1777)
        (self.root / "app/pinledger").touch()
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.root / name).symlink_to(f"usr/{name}")
        for name in ("passwd", "nsswitch.conf", "ld.so.cache", "localtime"):
            if Path(f"/etc/{name}").exists():
                shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        names = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{names}")
        self.binds = [(f"/{name}", name) for name in ("usr", "opt", "proc", "dev", "etc/ssl")] + [(BINARY, "app/pinledger")]
        for mount in container(self.workload).get("volumeMounts", []) if self.workload else []:
            self.binds.append((str(self.volume(mount["name"])), mount["mountPath"][1:]))
            (self.root / mount["mountPath"][1:]).mkdir(parents=True)

    def volume(self, name: str) -> Path:
        """The directory behind a volume, as its kind is given: secrets of root, for the pod's group."""
        for one in pod(self.workload).get("volumes", []):
            for kind, source in one.items():
                if one["name"] == name and kind in ("secret", "configMap"):
                    texts = self.cluster.objects.get(source.get("secretName") or source["name"], {})
                    return self.cluster.directory(name, texts, source.get("defaultMode", 0o644))
                if one["name"] == name and kind == "projected":
                    secrets = [part["secret"] for part in source["sources"]]
                    texts = {item["path"]: self.cluster.objects[each["name"]][item["key"]] for each in secrets for item in each["items"]}
                    return self.cluster.directory(name, texts, source["defaultMode"])
        own = self.home / name
        own.mkdir(exist_ok=True)
        os.chown(own, 0, 10001)
        own.chmod(0o2770)
        return own

    def listen(self) -> Iterator[socket.socket]:
        for name, service in SERVICES.items():
            # A pod listens on every address of its network, so that a relay has no room at the pod's own ports.
            for port in [port for port in service["ports"] if port["port"] not in self.place.ports.values()]:
                yield self.relay(ADDRESSES[name], port["port"], name, port["name"])
        yield self.relay(DATABASE, 5432, None, None)

    def relay(self, address: str, number: int, service: str | None, port: str | None) -> socket.socket:
        listener = inside(self.network, lambda: socket.create_server((address, number)))

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=self.join, args=(client, service, port), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener

    def join(self, client: socket.socket, service: str | None, port: str | None) -> None:
        """Carries bytes to what stands behind an address, or closes the connection where the cluster would refuse it."""
        with client:
            try:
                server = self.cluster.database(self) if service is None else self.cluster.endpoint(self, service, port)
            except OSError:
                return
            if server is None:
                return
            with server:
                back = threading.Thread(target=carry, args=(server, client), daemon=True)
                back.start()
                carry(client, server)
                back.join()

    @property
    def prefix(self) -> list[str]:
        """Runs a program in this network and on this file system, where it has another path, as the account of the image."""
        script = ["set -e", "mount --make-rprivate /"]
        script += [f"mount --rbind '{source}' '{self.root / target}'" for source, target in self.binds]
        script.append(f"shift\nexec /usr/sbin/chroot --userspec=10001:10001 '{self.root}' /app/pinledger \"$@\"")
        return ["nsenter", f"--net=/run/netns/{self.network}", "unshare", "--mount", "sh", "-c", "\n".join(script), "pod"]

    def environment(self) -> dict[str, str]:
        given = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}
        for variable in container(self.workload).get("env", []) if self.workload else []:
            [reference] = variable["valueFrom"].values()
            value = self.cluster.objects.get(reference["name"], {}).get(reference["key"])
            assert value is not None or reference.get("optional"), (
                f"{self.name}: there is no {reference['name']} with {reference['key']}"
            )
            if value is not None:
                given[variable["name"]] = value
        return given

    def command(self, *words: str, **more: str) -> subprocess.CompletedProcess:
        command, variables = [*self.prefix, BINARY, *words], self.environment() | more
        return subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    def does(self, *words: str, **more: str) -> bool:
        return self.command(*words, **more).returncode == 0

    def run(self, *words: str, **more: str) -> str:
        done = self.command(*words, **more)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def start(self) -> "Pod":
        self.process = Process(self.home / "log", container(self.workload)["args"], 0)
        self.process.prefix, self.process.environment = self.prefix, self.environment()
        self.process.spawn()
        return self

    def asks(self, probe: str) -> bool:
        """A probe, as the kubelet makes it: from within, whatever the policies say."""
        asked = container(self.workload)[probe]["httpGet"]
        return self.answer("127.0.0.1", self.place.ports[asked["port"]], asked["path"]) == 200

    def answer(self, address: str, number: int, path: str) -> int | None:
        """The status with which an address answers this pod; nothing where no connection is made."""
        try:
            plain = inside(self.network, socket.socket)
            plain.settimeout(120)
            plain.connect((address, number))
            with self.cluster.trust.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                return int(secure.recv(64).split()[1])
        except (OSError, IndexError):
            return None

    def reaches(self, service: str, number: int, path: str = "/healthz") -> bool:
        return self.answer(ADDRESSES[service], number, path) is not None

    def reaches_database(self) -> bool:
        with inside(self.network, socket.socket) as connection:
            connection.settimeout(120)
            connection.connect((DATABASE, 5432))
            # PostgreSQL answers the question for TLS with a letter.
            connection.sendall(struct.pack(">II", 8, 80877103))
            try:
                return connection.recv(1) in (b"N", b"S")
            except ConnectionError:
                return False

    def close(self) -> None:
        if self.process and self.process.is_running:
            self.process.kill()
        for listener in self.listeners:
            listener.close()
        subprocess.run(["ip", "netns", "del", self.network], check=False)


def carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


class Cluster:
    """Secrets, config maps and pods, and the network between them."""

    def __init__(self, home: Path, socket_of_database: str, authority: Path):
        home.chmod(0o755)
        self.home, self.socket_of_database = home, socket_of_database
        self.trust = ssl.create_default_context(cafile=authority)
        #: Secrets and config maps by name: the text of each key.
        self.objects: dict[str, dict[str, str]] = {
            name: {key: file.read_text() for key, file in keys.items()} for name, keys in manifests.SETTINGS.items()
        }
        self.pods: dict[str, Pod] = {}
        self.has_database = True
        self.numbers = itertools.count()

    def directory(self, name: str, texts: dict[str, str], mode: int) -> Path:
        directory = self.home / f"{name}-{next(self.numbers)}"
        directory.mkdir()
        for key, text in texts.items():
            file = directory / key
            file.write_text(text)
            os.chown(file, 0, 10001)
            file.chmod(mode)
        return directory

    def add(self, workload: str, number: int | None = None) -> Pod:
        name = workload if number is None else f"{workload}-{number}"
        self.pods[name] = Pod(self, name, ours(workload), workload)
        return self.pods[name]

    def replace(self, name: str) -> None:
        """Ends a pod, and starts it as its workload is now, with the volume that it had."""
        self.stop(name)
        former = self.pods.pop(name)
        former.close()
        shutil.rmtree(former.root)
        self.add(former.workload, int(name.rpartition("-")[2]))
        self.start(name)
        self.await_ready(name)

    def stranger(self, name: str, **worn: str) -> Pod:
        place = Place({}, {f"pinledger.example/{key}": value for key, value in worn.items()})
        self.pods[name] = Pod(self, name, place)
        return self.pods[name]

    def endpoint(self, source: Pod, service: str, port: str) -> socket.socket | None:
        """A connection to a pod that is ready; none where there is no such pod, or no policy allows it."""
        for target in list(self.pods.values()):
            fits = target.workload and manifests.fits({"matchLabels": SERVICES[service]["selector"]}, target.place.labels)
            if not fits or not target.process or not target.process.is_running or not target.asks("readinessProbe"):
                continue
            if not manifests.allows(POLICIES, source.place, target.place, port):
                return None
            connection = inside(target.network, socket.socket)
            connection.connect(("127.0.0.1", target.place.ports[port]))
            return connection
        return None

    def database(self, source: Pod) -> socket.socket | None:
        if not self.has_database or not manifests.allows(POLICIES, source.place, Place(address=DATABASE), 5432):
            return None
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.socket_of_database)
        return connection

    def start(self, *names: str) -> None:
        for name in names:
            self.pods[name].start()
        for name in names:
            self.pods[name].process.wait_until(lambda name=name: self.pods[name].asks("startupProbe"))

    def stop(self, *names: str) -> None:
        # Each serves for a while after it was told to stop: all are told first.
        for name in names:
            self.pods[name].process.process.send_signal(signal.SIGTERM)
        for name in names:
            self.pods[name].process.stop()

    def await_ready(self, *names: str) -> None:
        for name in names:
            eventually(lambda name=name: self.pods[name].asks("readinessProbe"), f"{name} that is ready")

    def close(self) -> None:
        for one in self.pods.values():
            one.close()


def furnished(own_server, home: Path) -> Cluster:
    """A cluster with what the page has operators make before the servers start."""
    names = re.findall(r"`([*a-z.-]+)`", handbook.text("containers").split("The certificate has the names")[1].split("\n\n")[0])
    key, certificate = home / "tls.key", home / "tls.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    alternatives = "subjectAltName=" + ",".join(f"DNS:{name}" for name in names)
    command += ["-subj", "/CN=pinledger", "-addext", alternatives, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    database = Database.make(own_server, "pods", like="template0")
    for role in ("pinledger", "pinledger_node"):
        own_server.sql(f"CREATE ROLE {role} LOGIN")
    one = Cluster(home, f"{database.socket}/.s.PGSQL.5432", certificate)
    reached = f"host={DATABASE} dbname=pods sslmode=disable connect_timeout=5"
    public = own_server.cli("key", "batch-public-key", "--kek-file", str(database.key)).stdout.strip()
    one.objects |= {
        "pinledger-database-owner": {"conninfo": f"{reached} user=postgres\n"},
        "pinledger-database": {"conninfo": f"{reached} user=pinledger\n", "reader_conninfo": f"{reached} user=pinledger_node\n"},
        "pinledger-kek": {"kek": database.key.read_text()},
        "pinledger-batch-key": {"batch_public_key": public},
        "pinledger-tls": {"tls.crt": certificate.read_text(), "tls.key": key.read_text(), "ca.crt": certificate.read_text()},
    }
    return one
