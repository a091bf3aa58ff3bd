"""Google's token endpoint and Firebase's Remote Config REST API v1, as their documentation says they behave:

- https://developers.google.com/identity/protocols/oauth2/service-account (the assertion, and what is wrong with one)
- https://firebase.google.com/docs/reference/remote-config/rest/v1/projects/updateRemoteConfig (If-Match, validateOnly)
- https://firebase.google.com/docs/remote-config/automate-rc (error codes; no ETag without compression)
- https://firebase.google.com/docs/remote-config/quotas-limits
"""

import copy
import gzip
import json
import re
import secrets
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from deployed import pkcs8

SCOPE = "https://www.googleapis.com/auth/firebase.remoteconfig"
MEMBERS = {"conditions", "parameters", "parameterGroups", "version", "etag"}
TYPES = {"STRING", "BOOLEAN", "NUMBER", "JSON", "PARAMETER_VALUE_TYPE_UNSPECIFIED"}


class Invalid(Exception):
    """What the service refuses a template for."""


def validate(template: dict) -> None:
    """Refuses a malformed template."""

    def check(holds, what: str) -> None:
        if not holds:
            raise Invalid(what)

    check(isinstance(template, dict) and set(template) <= MEMBERS, f"unknown name in {sorted(template)}")
    names = [condition.get("name") for condition in template.get("conditions", [])]
    check(len(names) <= 2000, "too many conditions")
    for condition in template.get("conditions", []):
        name, expression = condition.get("name"), condition.get("expression")
        check(isinstance(name, str) and 1 <= len(name) <= 100, f"bad condition name {name!r}")
        check(isinstance(expression, str) and expression, f"condition {name} has no expression")
        for open_, close in ["()", "[]"]:
            check(expression.count(open_) == expression.count(close), f"cannot parse {expression}")
        check(expression.count("'") % 2 == 0, f"cannot parse {expression}")
    check(len(names) == len(set(names)), "[VALIDATION_ERROR]: DUPLICATE_CONDITION_NAME")
    parameters = list(template.get("parameters", {}).items())
    for group in template.get("parameterGroups", {}).values():
        parameters += group.get("parameters", {}).items()
    keys = [key for key, _ in parameters]
    check(len(keys) == len(set(keys)), "a parameter is there twice")
    check(len(keys) <= 3000, "too many parameters")
    size = 0
    for key, parameter in parameters:
        check(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,255}", key), f"bad parameter key {key}")
        check("defaultValue" in parameter or parameter.get("conditionalValues"), f"{key} has no value")
        check(len(parameter.get("description", "")) <= 100, f"the description of {key} is too long")
        type_ = parameter.get("valueType", "STRING")
        check(type_ in TYPES, f"bad type {type_}")
        values = [parameter["defaultValue"]] if "defaultValue" in parameter else []
        for name, value in parameter.get("conditionalValues", {}).items():
            check(name in names, f"[VALIDATION_ERROR]: {key} refers to the undefined condition {name}")
            values.append(value)
        for value in values:
            check(len(value) == 1, f"{key} has a value of {sorted(value)}")
            if "value" in value:
                check(isinstance(value["value"], str), f"{key} has a value that is no text")
                size += len(value["value"])
                if type_ == "JSON":
                    try:
                        json.loads(value["value"])
                    except ValueError:
                        raise Invalid(f"{key} has a value that is no JSON") from None
    check(size <= 1_000_000, "the values are too large")


@dataclass
class Request:
    method: str
    path: str
    validate_only: bool
    status: int
    at: float = field(default_factory=time.monotonic)


class Project:
    """One project's client template, with its versions."""

    def __init__(self):
        self.template: dict = {}
        self.etag = self._new_etag()
        self.versions: list[dict] = []

    @staticmethod
    def _new_etag() -> str:
        return f"etag-123456789012-{secrets.randbelow(10**12)}"

    def publish(self, template: dict, *, user: str, origin: str, kind: str = "INCREMENTAL_UPDATE") -> None:
        version = {
            "versionNumber": str(len(self.versions) + 1),
            "updateTime": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
            "updateUser": {"email": user}, "updateOrigin": origin, "updateType": kind,
        }  # fmt: skip
        if description := template.get("version", {}).get("description"):
            version["description"] = description
        self.template = {name: value for name, value in copy.deepcopy(template).items() if name != "etag"}
        self.template["version"] = version
        self.etag = self._new_etag()
        self.versions.append(copy.deepcopy(self.template))


class Firebase:
    """Listens on 127.0.0.1. `before_put(project, validate_only)` is called, without the lock, before a PUT is looked at."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.lock = threading.RLock()
        self.projects: dict[str, Project] = {}
        self.requests: list[Request] = []
        self.tokens: dict[str, tuple[str, float]] = {}
        self.grants: list[str] = []
        self.lifetime = 3599
        self.failures: list[tuple[str, str, int, dict]] = []
        self.forbidden: set[str] = set()
        self.refused_words: dict[str, str] = {}
        self.before_put = lambda project, validate_only: None
        firebase = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_GET(self):
                firebase._serve(self, "GET")

            def do_PUT(self):
                firebase._serve(self, "PUT")

            def do_POST(self):
                firebase._token(self)

            def log_message(self, *arguments):
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    # What tests do

    def account(self, directory: Path, project: str, **changes) -> Path:
        """The key file of a service account of a project, which then exists."""
        with self.lock:
            self.projects.setdefault(project, Project())
        file = directory / f"{project}.json"
        content = {
            "type": "service_account", "project_id": project, "private_key_id": "key-1", "private_key": pkcs8(self.key),
            "client_email": f"pins@{project}.iam.gserviceaccount.com", "client_id": "1", "token_uri": f"{self.url}/token",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth", "universe_domain": "googleapis.com",
        } | changes  # fmt: skip
        file.write_text(json.dumps(content))
        file.chmod(0o600)
        return file

    def template(self, project: str) -> dict:
        with self.lock:
            return copy.deepcopy(self.projects[project].template)

    def versions(self, project: str) -> int:
        with self.lock:
            return len(self.projects[project].versions)

    def edit(self, project: str, change) -> None:
        """Edits the template as a person does in the console: `change(template)`."""
        with self.lock:
            template = self.template(project)
            change(template)
            template.pop("version", None)
            validate(template)
            self.projects[project].publish(template, user="somebody@example.com", origin="CONSOLE")

    def fail(self, project: str, method: str, *answers: tuple[int, dict]) -> None:
        """The next requests of a method to a project are answered so."""
        with self.lock:
            self.failures += [(project, method, status, headers) for status, headers in answers]

    def of(self, project: str, method: str | None = None) -> list[Request]:
        with self.lock:
            return [
                each for each in self.requests
                if each.path == f"/v1/projects/{project}/remoteConfig" and method in (None, each.method)
            ]  # fmt: skip

    def wait(self, project: str, holds, seconds: float = 180) -> dict:
        """The template, once `holds(template)`."""
        deadline = time.monotonic() + seconds
        while True:
            template = self.template(project)
            if holds(template):
                return template
            assert time.monotonic() < deadline, f"after {seconds} s the project has {json.dumps(template, indent=1)}"
            time.sleep(0.05)

    # What the services do

    def _answer(self, handler, status: int, body: dict, headers: dict | None = None) -> None:
        data = json.dumps(body, indent=2).encode()
        headers = dict(headers or {})
        if "gzip" in (handler.headers["Accept-Encoding"] or ""):
            data = gzip.compress(data)
            headers["Content-Encoding"] = "gzip"
        else:
            headers.pop("ETag", None)
        handler.send_response(status)
        for name, value in ({"Content-Type": "application/json; charset=UTF-8"} | headers).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _token(self, handler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"])).decode()
        try:
            form = {name: values[0] for name, values in parse_qs(body, strict_parsing=True).items()}
            assert handler.path == "/token"
            assert handler.headers["Content-Type"] == "application/x-www-form-urlencoded"
            assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
            assert jwt.get_unverified_header(form["assertion"]) == {"alg": "RS256", "kid": "key-1", "typ": "JWT"}
            claims = jwt.decode(
                form["assertion"], self.key.public_key(), algorithms=["RS256"], audience=f"{self.url}/token",
                options={"require": ["iss", "aud", "iat", "exp"]},
            )  # fmt: skip
            assert claims["scope"] == SCOPE and 0 < claims["exp"] - claims["iat"] <= 3600
            project = re.fullmatch(r"pins@(.+)\.iam\.gserviceaccount\.com", claims["iss"])[1]
        except (AssertionError, KeyError, TypeError, ValueError, jwt.InvalidTokenError) as error:
            answer = {"error": "invalid_grant", "error_description": f"Invalid JWT: {error!r}"}
            return self._answer(handler, 400, answer)
        with self.lock:
            token = "ya29." + secrets.token_urlsafe(32)
            self.tokens[token] = (project, time.monotonic() + self.lifetime)
            self.grants.append(project)
        self._answer(handler, 200, {"access_token": token, "expires_in": self.lifetime, "token_type": "Bearer"})

    def _serve(self, handler, method: str) -> None:
        data = handler.rfile.read(int(handler.headers["Content-Length"] or 0))
        target = urlsplit(handler.path)
        validate_only = parse_qs(target.query).get("validateOnly") == ["true"]
        if (match := re.fullmatch(r"/v1/projects/([^/]+)/remoteConfig", target.path)) and method == "PUT":
            self.before_put(match[1], validate_only)
        with self.lock:
            status, body, headers = self._decide(method, match and match[1], handler.headers, data, validate_only)
            self.requests.append(Request(method, target.path, validate_only, status))
        try:
            self._answer(handler, status, body, headers)
        except OSError:
            pass

    @staticmethod
    def _error(status: int, code: str, message: str, headers: dict | None = None) -> tuple[int, dict, dict]:
        return status, {"error": {"code": status, "message": message, "status": code}}, headers or {}

    def _decide(self, method: str, name: str | None, headers, data: bytes, validate_only: bool) -> tuple[int, dict, dict]:
        owner, end = self.tokens.get((headers["Authorization"] or "").removeprefix("Bearer "), ("", 0.0))
        if time.monotonic() >= end:
            return self._error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        if name not in self.projects:
            return self._error(404, "NOT_FOUND", "Requested entity was not found.")
        if owner != name or name in self.forbidden:
            return self._error(403, "PERMISSION_DENIED", "The caller does not have permission")
        for failure in self.failures:
            if failure[:2] == (name, method):
                self.failures.remove(failure)
                return self._error(failure[2], "UNAVAILABLE", "Try again later.", failure[3])
        project = self.projects[name]
        if method == "GET":
            return 200, project.template, {"ETag": project.etag}
        if headers["If-Match"] not in (project.etag, "*"):
            return self._error(412, "FAILED_PRECONDITION", "[VERSION_MISMATCH]: Expected version does not match.")
        try:
            template = json.loads(data)
            validate(template)
            if (word := self.refused_words.get(name)) and word in data.decode():
                raise Invalid(f"there is {word} in it")
        except (Invalid, ValueError, AttributeError, TypeError) as error:
            return self._error(400, "INVALID_ARGUMENT", f"[VALIDATION_ERROR]: {error}")
        if validate_only:
            return 200, template, {"ETag": f"{project.etag}-0"}
        kind = "FORCED_UPDATE" if headers["If-Match"] == "*" else "INCREMENTAL_UPDATE"
        project.publish(template, user=f"pins@{name}.iam.gserviceaccount.com", origin="REST_API", kind=kind)
        return 200, project.template, {"ETag": project.etag}
