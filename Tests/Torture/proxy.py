"""The fault proxy: TCP in the middle, in front of PostgreSQL or of the HTTP server, with the faults that are set.

It runs on a thread with an event loop of its own; every method may be called from any thread, at any time. "Up" is what
flows from the client to the server, "down" what comes back.
"""

import asyncio
import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

UP, DOWN = "up", "down"


@dataclass
class Faults:
    """The faults of one direction."""

    #: Seconds that everything takes longer, and at random up to so many more.
    latency: float = 0
    jitter: float = 0
    #: Bytes per second.
    bandwidth: float | None = None
    #: Nothing passes, and nothing is closed.
    is_stalled: bool = False


class _Connection:
    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter):
        self.writers = (client, server)
        #: Bytes that still pass before the connection is cut, by direction.
        self.left: dict[str, int] = {}

    def abort(self) -> None:
        """A reset on both sides: what is in flight is lost."""
        for writer in self.writers:
            with contextlib.suppress(OSError):
                connection = writer.get_extra_info("socket")
                if connection is not None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


class FaultProxy:
    """Listens on `port` and passes every connection on to where `target` points when it is made: a port of 127.0.0.1."""

    def __init__(self, target: int | Callable[[], int | None], *, seed: int = 1):
        self._target = target if callable(target) else lambda: target
        self._random = random.Random(seed)
        self.faults = {UP: Faults(), DOWN: Faults()}
        self._connections: set[_Connection] = set()
        self._changed: asyncio.Event | None = None
        self._cut: tuple[str, int] | None = None
        #: How many connections were cut, by what did it.
        self.cuts = {"reset": 0, "truncation": 0}
        self.port = 0
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the proxy did not start")

    # MARK: Faults

    def set(self, direction: str | None = None, **faults) -> None:
        """Sets members of ``Faults``, for one direction or for both."""

        def change() -> None:
            for each in (UP, DOWN) if direction is None else (direction,):
                for name, value in faults.items():
                    if not hasattr(self.faults[each], name):
                        raise TypeError(name)
                    setattr(self.faults[each], name, value)
            self._wake()

        self._call(change)

    def heal(self) -> None:
        """As if there were no proxy, from now on."""

        def change() -> None:
            self.faults = {UP: Faults(), DOWN: Faults()}
            self._cut = None
            for connection in self._connections:
                connection.left = {}
            self._wake()

        self._call(change)

    def reset_all(self) -> int:
        """Cuts every connection there is; how many."""

        def change() -> int:
            victims = list(self._connections)
            for connection in victims:
                connection.abort()
            self.cuts["reset"] += len(victims)
            return len(victims)

        return self._call(change)

    def cut_after(self, direction: str, count: int) -> None:
        """Truncation: the next connection over which `count` more bytes flow that way is cut there, and only that one."""

        def change() -> None:
            self._cut = (direction, count)
            for connection in self._connections:
                connection.left = {direction: count}

        self._call(change)

    def wait_for_cut(self, seconds: float) -> bool:
        """Whether the connection that `cut_after` waits for was cut within so long."""
        deadline = time.monotonic() + seconds
        while self._cut is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        with contextlib.suppress(RuntimeError):
            self._call(lambda: [connection.abort() for connection in self._connections])
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # MARK: The loop's thread

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._changed = asyncio.Event()
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _call(self, change):
        done = threading.Event()
        result: list = []

        def run() -> None:
            try:
                result.append(change())
            except BaseException as error:
                result.append(error)
            done.set()

        self._loop.call_soon_threadsafe(run)
        if not done.wait(30):
            raise RuntimeError("the proxy does not answer")
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    def _wake(self) -> None:
        assert self._changed is not None
        self._changed.set()
        self._changed = asyncio.Event()

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        target = self._target()
        try:
            if target is None:
                raise ConnectionRefusedError
            server_reader, server = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            _Connection(client, client).abort()
            return
        connection = _Connection(client, server)
        if self._cut is not None:
            connection.left = dict([self._cut])
        self._connections.add(connection)
        try:
            await asyncio.gather(
                self._pump(UP, client_reader, server, connection), self._pump(DOWN, server_reader, client, connection)
            )
        except asyncio.CancelledError:
            # The proxy is closed.
            connection.abort()
        finally:
            self._connections.discard(connection)
            for writer in connection.writers:
                writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _pump(
        self, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: _Connection
    ) -> None:
        try:
            while chunk := await reader.read(65536):
                faults = self.faults[direction]
                if faults.latency or faults.jitter:
                    await asyncio.sleep(faults.latency + self._random.random() * faults.jitter)
                while self.faults[direction].is_stalled:
                    assert self._changed is not None
                    await self._changed.wait()
                if self.faults[direction].bandwidth:
                    await asyncio.sleep(len(chunk) / self.faults[direction].bandwidth)
                left = connection.left.get(direction)
                if left is not None and self._cut is None:
                    # Another connection was cut meanwhile.
                    connection.left, left = {}, None
                if left is not None and len(chunk) >= left:
                    writer.write(chunk[:left])
                    with contextlib.suppress(OSError, asyncio.TimeoutError):
                        await asyncio.wait_for(writer.drain(), 1)
                    # What was let through has to arrive before the reset overtakes it.
                    await asyncio.sleep(0.002)
                    self._cut = None
                    self.cuts["truncation"] += 1
                    connection.abort()
                    return
                if left is not None:
                    connection.left[direction] = left - len(chunk)
                writer.write(chunk)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            # Reset on one side is reset on the other.
            connection.abort()
