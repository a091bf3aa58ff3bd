"""Clients that programs of others make of the contract, each behind the same few methods.

A call gives the status, the answer as the client understood it, and the ETag; a body is given as the client's own model.
"""

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import httpx

SCRIPTS = Path(sys.executable).parent


def snake(name: str) -> str:
    """The name of an operation as Python's functions are named."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def run(*command: str | Path) -> str:
    # The generator in Java is a script that looks for `java`, the other one looks for its formatter.
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def modules(package):
    """A package, and every module in it."""
    yield package
    for one in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield importlib.import_module(one.name)


class OpenAPIPythonClient:
    """A client by openapi-python-client, with attrs and httpx."""

    PACKAGE = "made_by_openapi_python_client"
    #: The client passes over bodies of these kinds. The one request among them also takes `application/octet-stream`.
    SKIPPED = re.compile(r"Unsupported content.type (?:application/jose|application/xml|application/yaml|text/plain|text/xml)\b")

    def __init__(self, contract: Path, directory: Path):
        said = run(
            SCRIPTS / "openapi-python-client", "generate", "--path", contract, "--meta", "none",
            "--output-path", directory / self.PACKAGE,
        )  # fmt: skip
        paragraphs = re.split(r"^(?=WARNING|ERROR|Unable)", said, flags=re.M)[1:]
        self.complaints = [paragraph for paragraph in paragraphs if not self.SKIPPED.search(paragraph)]
        package = importlib.import_module(self.PACKAGE)
        found = list(modules(package))
        self.client = package.AuthenticatedClient
        self.models = importlib.import_module(f"{self.PACKAGE}.models")
        self.operations = {one.__name__.rpartition(".")[2]: one for one in found if hasattr(one, "sync_detailed")}

    def connect(self, url: str, token: str):
        self.client = self.client(base_url=url, token=token, timeout=httpx.Timeout(120))

    def model(self, name: str, value: dict):
        return getattr(self.models, name).from_dict(value)

    def read(self, operation: str, status: str, kind: str, value):
        answer = httpx.Response(int(status), json=value, headers={"Content-Type": kind})
        return self.operations[operation]._parse_response(client=self.client, response=answer)

    def call(self, operation: str, *path: str, body=None, **options):
        sent = options if body is None else options | {"body": body}
        answer = self.operations[operation].sync_detailed(*path, client=self.client, **sent)
        return answer.status_code, answer.parsed, answer.headers.get("ETag")


class OpenAPIGenerator:
    """A client by OpenAPI Generator, with Pydantic and urllib3."""

    PACKAGE = "made_by_openapi_generator"

    def __init__(self, contract: Path, directory: Path):
        # Neither pages about the client nor tests of it.
        parts = "apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false"
        run(
            SCRIPTS / "openapi-generator-cli", "generate", "--generator-name", "python", "--input-spec", contract,
            "--output", directory, "--package-name", self.PACKAGE, "--global-property", parts,
        )  # fmt: skip
        self.complaints: list[str] = []
        self.package = importlib.import_module(self.PACKAGE)
        list(modules(self.package))
        self.client = self.package.ApiClient()
        groups = vars(importlib.import_module(f"{self.PACKAGE}.api"))
        self.operations = {
            name: (group, types)
            for group in groups.values() if inspect.isclass(group)
            for name, types in self.types_of_answers(group).items()
        }  # fmt: skip

    @staticmethod
    def types_of_answers(group: type) -> dict[str, dict[str, str | None]]:
        """For each operation of a group the type that it reads from the answers of each status: a literal in each of its functions."""
        found = {}
        for function in ast.parse(textwrap.dedent(inspect.getsource(group))).body[0].body:
            for node in ast.walk(function):
                if isinstance(node, ast.AnnAssign) and node.target.id == "_response_types_map":
                    name = function.name.removesuffix("_with_http_info").removesuffix("_without_preload_content")
                    found[name] = ast.literal_eval(node.value)
        return found

    def connect(self, url: str, token: str):
        self.client = self.package.ApiClient(self.package.Configuration(host=url, access_token=token))

    def model(self, name: str, value: dict):
        return getattr(self.package, name).from_dict(value)

    def read(self, operation: str, status: str, kind: str, value):
        return self.client.deserialize(json.dumps(value), self.operations[operation][1].get(status), kind)

    def call(self, operation: str, *path: str, body=None, **options):
        group, _ = self.operations[operation]
        sent = path if body is None else (*path, body)
        try:
            answer = getattr(group(self.client), f"{operation}_with_http_info")(*sent, **options)
        except self.package.ApiException as error:
            return error.status, error.data, error.headers.get("ETag")
        # One of several types is wrapped.
        return answer.status_code, getattr(answer.data, "actual_instance", answer.data), answer.headers.get("ETag")
