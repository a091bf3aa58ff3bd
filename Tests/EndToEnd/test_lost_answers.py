"""Commands whose answer gets lost: what was recorded is recorded once, and the command says what it knows."""

import re
import socket
import threading

import pytest


class Cutter:
    """Stands before a server and passes every connection on; of the first `count` it lets the request through, waits for the
    answer, and closes without it."""

    def __init__(self, port: int, count: int):
        self.target, self.left, self.cut = port, count, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            is_cut = self.left > 0
            self.left -= is_cut
            threading.Thread(target=self._pass, args=(client, is_cut), daemon=True).start()

    def _pass(self, client: socket.socket, is_cut: bool) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            up = threading.Thread(target=self._copy, args=(client, server), daemon=True)
            up.start()
            if is_cut:
                # The answer's first bytes are proof enough that the request was carried out.
                server.recv(65536)
                self.cut += 1
                client.shutdown(socket.SHUT_RDWR)
            else:
                self._copy(server, client)
            up.join(5)

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self) -> "Cutter":
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()


def through(server, port: int, *arguments: str, status: int = 0):
    """Runs a command that asks that port."""
    more = ["--server", f"http://127.0.0.1:{port}", "--token-file", "-"]
    return server.cli(*arguments, *more, status=status, input=server.api.token)


@pytest.mark.parametrize("count", [1, 3])
def test_a_command_whose_answer_is_lost_sends_the_same_again(server, count):
    app = f"com.example.lost.{count}"
    mark = server.api.mark()
    with Cutter(server.port, count) as cutter:
        done = through(server, cutter.port, "app", "create", app)
        assert cutter.cut == count
    assert "AppCreated" in done.stdout
    assert len(server.api.since(mark)) == 1
    assert server.api.get(f"/v1/apps/{app}").status == 200


def test_a_command_that_never_learns_the_outcome_names_its_key(server):
    app = "com.example.lost.for.good"
    mark = server.api.mark()
    with Cutter(server.port, 100) as cutter:
        failed = through(server, cutter.port, "app", "create", app, status=8)
        assert cutter.cut > 1
    key = re.search(r"--idempotency-key (\S+?)`", failed.stderr)
    assert key, failed.stderr
    assert "may have been recorded" in failed.stderr
    # What it advises is what helps.
    done = server.cli("app", "create", app, "--idempotency-key", key[1])
    assert "AppCreated" in done.stdout
    assert len(server.api.since(mark)) == 1
    # With another key the same command meets what is there.
    server.cli("app", "create", app, status=6)


def test_a_command_that_was_never_sent_says_so_at_once(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    failed = through(server, port, "app", "create", "com.example.unsent", status=8)
    assert "cannot be reached" in failed.stderr and "may have been recorded" not in failed.stderr
