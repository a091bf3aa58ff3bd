"""The network between machines: TCP in the middle of every link, which is cut by who talks to whom.

Machines are processes on loopback, told apart by the directory in which they work. What a machine offers to the others
is reached through a port here; nodes and clients connect to the machines themselves, so they reach both sides of a
partition. It runs on a thread with an event loop of its own; every method may be called from any thread, at any time.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

#: (from, to, service); None stands for any.
Link = tuple[str | None, str | None, str | None]


class _Connection:
    def __init__(self, link: Link, *writers: asyncio.StreamWriter):
        self.link, self.writers = link, writers
        self.is_broken = False

    def abort(self) -> None:
        """A reset on both sides: what is in flight is lost."""
        self.is_broken = True
        for writer in self.writers:
            with contextlib.suppress(OSError):
                connection = writer.get_extra_info("socket")
                if connection is not None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


class Switchboard:
    """Ports in front of the services of machines. `processes` names the processes of a directory."""

    def __init__(self, home: Path, processes: Callable[[Path], Iterable[int]]):
        self._home, self._processes = home, processes
        self._blocks: set[Link] = set()
        self._connections: set[_Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._changed = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def add(self, machine: str, service: str, target: int, port: int) -> None:
        """The others reach this service of a machine through `port`."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(machine, service, target, reader, writer)

        self._servers.append(self._call(asyncio.start_server(serve, "127.0.0.1", port, backlog=256)))

    # MARK: Cutting

    def block(self, *links: Link) -> None:
        """Nothing passes these links, in both directions, and nothing is closed: as when packets are lost."""

        async def change() -> None:
            self._blocks |= set(links)

        self._call(change())

    def isolate(self, machine: str) -> None:
        """One machine on one side, all others on the other."""
        self.block((machine, None, None), (None, machine, None))

    def heal(self) -> None:
        """Everything passes again. Connections that were held break, and what they held is lost."""

        async def change() -> None:
            for connection in list(self._connections):
                if self._is_blocked(connection.link):
                    connection.abort()
            self._blocks = set()
            self._changed.set()
            self._changed = asyncio.Event()

        self._call(change())

    def close(self) -> None:
        if not self._thread.is_alive():
            return

        async def end() -> None:
            for server in self._servers:
                server.close()
            for connection in list(self._connections):
                connection.abort()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        with contextlib.suppress(Exception):
            self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # MARK: The loop's thread

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def _is_blocked(self, link: Link) -> bool:
        if link[0] == link[1]:
            return False
        return any(all(b is None or a is None or a == b for a, b in zip(link, block)) for block in self._blocks)

    def _source(self, port: int, own: int) -> str | None:
        """Which machine's process holds the other end of a connection: a directory below the home."""
        wanted = (f"0100007F:{port:04X}", f"0100007F:{own:04X}")
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if (fields[1], fields[2]) == wanted:
                name = f"socket:[{fields[9]}]"
                break
        else:
            return None
        for process in self._processes(self._home):
            with contextlib.suppress(OSError):
                for entry in Path(f"/proc/{process}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        if str(entry.readlink()) == name:
                            return Path(f"/proc/{process}/cwd").readlink().relative_to(self._home).parts[0]
        return None

    async def _serve(
        self, machine: str, service: str, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        port, own = writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]
        connection = _Connection((None, machine, service), writer)
        self._connections.add(connection)
        try:
            link = connection.link = (await asyncio.to_thread(self._source, port, own), machine, service)
            await self._wait_for(link)
            if connection.is_broken:
                # What its client sent long ago, and has given up, is not to arrive now.
                return
            try:
                there_reader, there = await asyncio.open_connection("127.0.0.1", target)
            except OSError:
                connection.abort()
                return
            connection.writers = (writer, there)
            await asyncio.gather(self._pump(link, reader, there), self._pump(link, there_reader, writer))
        except (OSError, asyncio.CancelledError):
            # A reset on one side is one on the other.
            connection.abort()
        finally:
            self._connections.discard(connection)
            for each in connection.writers:
                each.close()

    async def _wait_for(self, link: Link) -> None:
        while self._is_blocked(link):
            await self._changed.wait()

    async def _pump(self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            await self._wait_for(link)
            if writer.transport.is_closing():
                return
            writer.write(chunk)
            await writer.drain()
        await self._wait_for(link)
        if writer.can_write_eof():
            writer.write_eof()
