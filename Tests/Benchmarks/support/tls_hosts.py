"""Many TLS servers in one process, some hostile: tls_hosts.py COUNT CERTIFICATE… (each file with its key).

Each listens on an address of its own in 127.0.0.0/8. Prints a line for each, `HOST:PORT KIND CERTIFICATE`, then an empty
one, and serves until its input ends.
"""

import asyncio
import socket
import ssl
import struct
import sys

#: The first of each fifty hosts are like this, the others sound.
HOSTILE = ["hang", "reset", "http", "huge", "endless"]

HELLO = bytes([22, 3, 3, 0, 49, 2, 0, 0, 45, 3, 3]) + bytes(32) + bytes([0, 0xC0, 0x2F, 0, 0, 5, 0xFF, 1, 0, 1, 0])


async def sound(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(4096):
        pass


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    await writer.drain()


async def huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A handshake message of 10 MB."""
    await reader.read(1)
    message = bytes([2]) + (10_000_000).to_bytes(3, "big") + bytes(10_000_000)
    for at in range(0, len(message), 0x4000):
        part = message[at : at + 0x4000]
        writer.write(bytes([22, 3, 3]) + len(part).to_bytes(2, "big") + part)
        await writer.drain()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A chain that goes on and on."""
    await reader.read(1)
    writer.write(HELLO + bytes([22, 3, 3, 0x40, 0, 11]) + b"\xff\xff\xff\xff\xff\xfc" + bytes(0x4000 - 7))
    while True:
        writer.write(bytes([22, 3, 3, 0x40, 0]) + bytes(0x4000))
        await writer.drain()


async def serve(count: int, files: list[str]) -> None:
    contexts = []
    for file in files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        contexts.append(context)
    servers = []
    for number in range(count):
        kind = HOSTILE[number % 50] if number % 50 < len(HOSTILE) else "sound"

        async def answer(reader, writer, behave=globals()[kind]):
            try:
                await behave(reader, writer)
            except (OSError, ssl.SSLError):
                pass
            finally:
                writer.close()

        host = f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"
        choice = number % len(contexts)
        context = contexts[choice] if kind == "sound" else None
        server = await asyncio.start_server(answer, host, 0, ssl=context, backlog=16)
        servers.append(server)
        print(f"{host}:{server.sockets[0].getsockname()[1]} {kind} {choice}")
    print(flush=True)
    # What hosts think of clients that leave early is of no interest.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2:]))
