"""A TLS server on 127.0.0.1 for OkHttpSelfTest: tls_server.py CHAIN KEY [1.2].

It prints its port, and a line for each connection and request. With 1.2 it knows no later version of TLS.
"""

import base64
import hashlib
import socket
import ssl
import sys
import threading


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(connection, head):
    path = head.split(b" ")[1].decode()
    say("request " + path)
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if path == "/socket":
        accept = base64.b64encode(hashlib.sha1(fields[b"Sec-WebSocket-Key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        connection.sendall(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    else:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def serve(accepted, context):
    try:
        with context.wrap_socket(accepted, server_side=True) as connection:
            say("connection resumed" if connection.session_reused else "connection full")
            buffer = b""
            while True:
                while b"\r\n\r\n" in buffer:
                    head, buffer = buffer.split(b"\r\n\r\n", 1)
                    answer(connection, head)
                received = connection.recv(65536)
                if not received:
                    return
                buffer += received
    except (OSError, ValueError) as error:
        say("failure " + type(error).__name__)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    if len(sys.argv) > 3 and sys.argv[3] == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    listener = socket.create_server(("127.0.0.1", 0))
    say(str(listener.getsockname()[1]))
    while True:
        accepted, _ = listener.accept()
        threading.Thread(target=serve, args=(accepted, context), daemon=True).start()


main()
