"""A stand-in for a Kubernetes API that has cert-manager's CertificateRequests, and issues what is approved.

Paths, conditions and answers are those of Kubernetes' API conventions and of cert-manager's API reference.
"""

import base64
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tls_server import openssl

LIST = "/apis/cert-manager.io/v1"


class Cluster:
    """Holds requests by namespace and name; `issued` has the names of those whose certificates were made."""

    def __init__(self, token: str = "account"):
        self.token, self.objects, self.issued, self.seen = token, {}, [], []
        self.refuses_approvals, self.changes_before_put = False, False
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                cluster.answer(self, "GET", None)

            def do_PUT(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                cluster.answer(self, "PUT", json.loads(body))

        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.listener.shutdown()
        self.listener.server_close()

    def request(self, name: str, csr: bytes, namespace: str = "shop", **status) -> None:
        """A request as cert-manager makes one for a Certificate that is due."""
        self.objects[namespace, name] = {
            "apiVersion": "cert-manager.io/v1",
            "kind": "CertificateRequest",
            "metadata": {"namespace": namespace, "name": name, "resourceVersion": "1", "uid": str(uuid.uuid4()), "generation": 1},
            "spec": {"request": base64.b64encode(csr).decode(), "issuerRef": {"name": "acme"}, "usages": ["server auth"]},
            "status": status,
        }

    def conditions(self, name: str, namespace: str = "shop") -> dict[str, dict]:
        return {each["type"]: each for each in self.objects[namespace, name]["status"].get("conditions", [])}

    def answer(self, exchange, method: str, body) -> None:
        url = urlsplit(exchange.path)
        self.seen.append((method, url.path))
        status, answer = self.handle(exchange, method, url, body)
        text = json.dumps(answer).encode()
        exchange.send_response(status)
        exchange.send_header("Content-Type", "application/json")
        exchange.send_header("Content-Length", str(len(text)))
        exchange.end_headers()
        exchange.wfile.write(text)

    def handle(self, exchange, method: str, url, body) -> tuple[int, dict]:
        if exchange.headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {"kind": "Status", "message": "Unauthorized"}
        parts = url.path.removeprefix(LIST).strip("/").split("/")
        namespace = parts[1] if parts[0] == "namespaces" else None
        if method == "GET":
            query = parse_qs(url.query)
            items = [each for key, each in sorted(self.objects.items()) if namespace in (None, key[0])]
            first = int(query.get("continue", ["0"])[0])
            # Kubernetes may give fewer than were asked for.
            last = first + min(2, int(query["limit"][0]))
            more = {"continue": str(last)} if last < len(items) else {}
            return 200, {"kind": "CertificateRequestList", "metadata": more, "items": items[first:last]}
        known = self.objects.get((namespace, parts[3]))
        if known is None or parts[4:] != ["status"]:
            return 404, {"kind": "Status", "message": "not found"}
        if self.refuses_approvals:
            return 403, {"kind": "Status", "message": "user not allowed to set approval conditions on certificaterequests"}
        version = known["metadata"]["resourceVersion"]
        if self.changes_before_put:
            self.changes_before_put = False
            known["metadata"]["resourceVersion"] = version = str(int(version) + 1)
        if body["metadata"]["resourceVersion"] != version:
            return 409, {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
        assert {key: body[key] for key in ("metadata", "spec")} == {key: known[key] for key in ("metadata", "spec")}
        known["status"] = body["status"]
        known["metadata"]["resourceVersion"] = str(int(version) + 1)
        if self.conditions(parts[3], namespace).get("Approved", {}).get("status") == "True":
            self.issued.append(parts[3])
        return 200, known


def signing_request(directory: Path, name: str, *hosts: str) -> bytes:
    """A signing request with a new key of its own."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    key = directory / f"{name}.key"
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(key))
    return openssl("req", "-new", "-subj", "/", "-addext", f"subjectAltName={names}", "-key", str(key))


