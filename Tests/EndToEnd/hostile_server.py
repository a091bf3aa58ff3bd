"""A server that answers every operation of the contract, with what terminals obey in each text."""

import contextlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contract import operations, resolved

#: Sets the window's title, rings the bell, clears the screen in seven bits and in eight, deletes, and turns the text's direction.
OBEYED = "\x1b]0;owned\x07\x1b[2J\x9b2J\x85\x7f\u202egnp.exe\u2066"
#: As deep as any answer, and an end for schemas that hold themselves.
DEPTH = 12
#: With it, a list would never end.
LEFT_OUT = {"next_cursor"}


def merged(schema: dict) -> dict:
    """The schema with its references, and with its parts in one."""
    schema = resolved(schema)
    for part in schema.get("allOf", []):
        part = merged(part)
        schema = {**part, **schema, "properties": part.get("properties", {}) | schema.get("properties", {})}
    return schema


def value(schema: dict, poisons_all: bool, depth: int = 0):
    """A value with every member that a schema has.

    What has a form (a time, an id, one of a few words) keeps it unless all texts are hostile: commands that read such a text end there.
    """
    if not isinstance(schema, dict) or depth > DEPTH:
        return OBEYED
    schema = merged(schema)
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return value({**schema[choice][0], **{k: v for k, v in schema.items() if k != choice}}, poisons_all, depth + 1)
    if "const" in schema or "enum" in schema:
        fixed = schema.get("const", next(iter(schema.get("enum", []) or [None])))
        return fixed + OBEYED if poisons_all and isinstance(fixed, str) else fixed
    kinds = schema.get("type", "object" if "properties" in schema or "additionalProperties" in schema else "string")
    kind = next(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null" or kinds == "null")
    match kind:
        case "object":
            members = {name: value(member, poisons_all, depth + 1) for name, member in schema.get("properties", {}).items() if name not in LEFT_OUT}
            more = schema.get("additionalProperties")
            return members | ({OBEYED: value(more, poisons_all, depth + 1)} if isinstance(more, dict) and more else {})
        case "array":
            return [value(schema.get("items", {}), poisons_all, depth + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    form = {"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31"}.get(schema.get("format", ""))
    form = form or ("pattern" in schema and next(iter([schema["example"]] if "example" in schema else schema.get("examples", [])), None))
    return form if isinstance(form, str) and not poisons_all else (form or "text") + OBEYED


class Answers:
    """The answer of every operation of the contract."""

    def __init__(self, poisons_all: bool):
        self.known = [
            (method.upper(), re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "$"), self.made(operation, poisons_all))
            for path, method, operation in sorted(operations(), key=lambda one: one[0].count("{"))
        ]

    @staticmethod
    def made(operation: dict, poisons_all: bool) -> tuple[int, str, bytes]:
        """Status, media type and body of a success."""
        status = next((status for status in operation["responses"] if status.startswith("2")), None)
        content = resolved(operation["responses"][status]).get("content", {}) if status else {}
        for kind, media in content.items():
            if "json" in kind:
                return int(status), kind, json.dumps(value(media.get("schema", {}), poisons_all)).encode()
        return int(status or 200), next(iter(content), "text/plain"), f"text {OBEYED}\n".encode()

    def of(self, method: str, path: str) -> tuple[int, str, bytes]:
        """Status, media type and body; a problem where there is no such operation."""
        for known, pattern, answer in self.known:
            if known == method and pattern.match(path.partition("?")[0]):
                return answer
        problem = {"type": "/problems/not_found", "title": OBEYED, "detail": f"no {OBEYED}", "advice": OBEYED}
        return 404, "application/problem+json", json.dumps(problem).encode()


@contextlib.contextmanager
def hostile_server(poisons_all: bool):
    """The server's address, and the paths that it was asked for."""
    answers, asked = Answers(poisons_all), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self):
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, kind, body = answers.of(self.command, self.path)
            self.send_response(status)
            for name, text in {"Content-Type": kind, "Content-Length": str(len(body)), "ETag": '"7"', "Location": "/\u202e"}.items():
                self.send_header(name, text.encode().decode("latin-1"))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
