"""Secrets stay where they belong: files that only their owner reads, no core dumps, crash reports without memory."""

import ctypes
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest
from pinledger import API, BINARY, Process, Server, eventually, free_port

CREATED, ATTRIBUTES = 0x100, 0x4


class Watch:
    """inotify on one directory: who was made there, and whose mode was changed afterwards."""

    def __init__(self, directory: Path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self.descriptor, str(directory).encode(), CREATED | ATTRIBUTES) >= 0

    def events(self) -> list[tuple[int, str]]:
        found, data = [], b""
        while True:
            try:
                data += os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                break
        while data:
            _, mask, _, length = struct.unpack_from("iIII", data)
            found.append((mask & (CREATED | ATTRIBUTES), data[16 : 16 + length].rstrip(b"\0").decode()))
            data = data[16 + length :]
        return found


def test_dev_never_lets_others_read_its_secrets():
    server = Server(lowers_rails=False)
    try:
        server.data.mkdir(mode=0o755)
        watch = Watch(server.data)
        server.start()
        events = watch.events()
        for name in ("key-encryption-key", "context.json"):
            assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600
            mine = [kind for kind, file in events if file.startswith(name)]
            assert CREATED in mine, events
            # It has its mode from the moment it is there.
            assert ATTRIBUTES not in mine, events

        # What others could have read or written is not used any more.
        (server.data / "context.json").chmod(0o644)
        refused = server.cli("app", "list", status=1)
        assert "can be read by others" in refused.stderr and "chmod 600" in refused.stderr
        (server.data / "context.json").chmod(0o600)
        server.cli("app", "list")
        server.stop()
        (server.data / "key-encryption-key").chmod(0o644)
        server.spawn()
        assert server.process.wait(60) == 1
        assert "can be read by others" in server.tail() and "chmod 600" in server.tail()
        server.process = None
    finally:
        server.destroy()


def test_a_server_that_crashes_leaves_neither_a_core_nor_registers():
    server = Server(lowers_rails=False)
    try:
        server.environment["SWIFT_BACKTRACE"] = "enable=yes,color=no,interactive=no,threads=crashed,limit=4,registers=all"
        # The server forbids what its surroundings allow.
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        server.start()
        pid = server.process.pid
        assert Path(f"/proc/{pid}/comm").read_text() == "pinledger\n"
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"Max core file size\s+0\s+0\s", limits)
        # A signal from outside is reported like a crash, and then the process goes on.
        server.process.send_signal(signal.SIGILL)
        eventually(lambda: "Backtrace took" in server.log.read_text(errors="replace"), "a crash report", 120)
        text = server.log.read_text(errors="replace")
        server.kill()
        assert not re.search(r"\bRegisters:|\br(ax|bx|ip|sp) 0x|\bx0 0x", text), text[-2000:]
    finally:
        server.destroy()


def test_a_server_that_crashes_says_where_and_ends_at_once():
    server = Server(lowers_rails=False)
    try:
        server.start()
        server.process.send_signal(signal.SIGSEGV)
        assert server.process.wait(300) == -signal.SIGSEGV
        server.process = None
        said = re.search(r"^pinledger: crashed by SIGSEGV; version \S+; addresses in the program:((?: 0x[0-9a-f]+)+)$", server.written(), re.M)
        assert said, server.tail()
        # Offsets in the file, as the tools for symbols take them; those of libraries lie elsewhere.
        found = subprocess.run(["addr2line", "-f", "-e", BINARY, *said[1].split()], capture_output=True, text=True).stdout
        assert "crash_report" in found or "report" in found.split("\n"), found
    finally:
        server.destroy()


def test_an_edge_that_crashes_says_where_and_ends_at_once(server, tmp_path):
    (tmp_path / "keys.json").write_bytes(API(server.port, None).get("/client/v1/jwks.json").body)
    port = free_port()
    edge = Process(
        tmp_path / "log", ["edge", "serve", "--upstream", f"http://127.0.0.1:{server.port}", "--trusted-keys",
        str(tmp_path / "keys.json"), "--listen", f"127.0.0.1:{port}"], port)  # fmt: skip
    edge.spawn()
    try:
        edge.wait_until(lambda: API(port, None).get("/healthz").status == 200)
        edge.process.send_signal(signal.SIGSEGV)
        assert edge.process.wait(300) == -signal.SIGSEGV
        edge.process = None
        assert "pinledger: crashed by SIGSEGV; version" in edge.written(), edge.tail()
    finally:
        edge.stop()


@pytest.mark.parametrize("prefix", ["", "@"], ids=["a file", "no file"])
def test_the_service_manager_hears_that_a_node_serves_and_lives(server, prefix, tmp_path):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = str(tmp_path / "notify") if not prefix else f"@pinledger-{os.getpid()}"
    manager.bind(name.replace("@", "\0"))
    manager.settimeout(300)
    port = free_port()
    node = Process(
        tmp_path / "log", ["serve", "--database", server.connection_string, "--listen", f"127.0.0.1:{port}"], port,
        {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "300000"})  # fmt: skip
    node.spawn()
    words = []
    while set(words) != {b"READY=1", b"WATCHDOG=1"}:
        words.append(manager.recv(100))
        assert set(words) <= {b"READY=1", b"WATCHDOG=1"}
        if words == [b"READY=1"]:
            assert API(port, None).get("/readyz").status == 200
    node.stop()
    manager.close()


def test_no_other_process_of_the_user_may_look_into_a_server():
    """An undumpable process's memory belongs to root, whichever user runs it."""
    home = Path(tempfile.mkdtemp(prefix="pinledger-undumpable-"))
    account = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    home.chmod(0o755)
    as_account = []
    if os.getuid() == 0:
        shutil.chown(home, account)
        as_account = ["setpriv", f"--reuid={account}", "--clear-groups"]
    kek = home / "kek"
    kek.write_text("A" * 43 + "=\n")
    kek.chmod(0o600)
    if os.getuid() == 0:
        shutil.chown(kek, account)
    program = shutil.copy(BINARY, home / "pinledger")
    # A database that never answers: the node waits for it, and holds its key.
    database = socket.socket(socket.AF_UNIX)
    database.bind(f"{home}/.s.PGSQL.5432")
    (home / ".s.PGSQL.5432").chmod(0o777)
    database.listen()
    process = subprocess.Popen(
        [*as_account, program, "serve", "--database", f"host={home} port=5432 dbname=none", "--kek-file", kek,
         "--listen", f"127.0.0.1:{free_port()}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        uid = pwd.getpwnam(account).pw_uid

        def is_protected() -> bool:
            assert process.poll() is None, process.stdout.read()
            return Path(f"/proc/{process.pid}/mem").stat().st_uid == 0 and f"\nUid:\t{uid}\t" in Path(
                f"/proc/{process.pid}/status").read_text()

        eventually(is_protected, "an undumpable process", 30)
    finally:
        process.kill()
        process.wait()
        database.close()
        shutil.rmtree(home)
