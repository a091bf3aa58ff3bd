"""A stand-in for the API of a Kubernetes cluster, with as much as Helm asks for: it keeps objects, and runs nothing.

A job is complete, or has failed, as soon as it is there. Paths, patches and refusals are those of Kubernetes' API conventions.
"""

import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

#: The kinds of each group and version, by the plurals of paths.
KINDS = {
    "v1": {"configmaps": "ConfigMap", "persistentvolumeclaims": "PersistentVolumeClaim", "services": "Service"},
    "apps/v1": {"statefulsets": "StatefulSet"},
    "batch/v1": {"cronjobs": "CronJob", "jobs": "Job"},
    "networking.k8s.io/v1": {"networkpolicies": "NetworkPolicy"},
    "policy/v1": {"poddisruptionbudgets": "PodDisruptionBudget"},
}
#: All that may change in the spec of a stateful set.
CHANGEABLE = {"minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "template", "updateStrategy"}


def merged(old, patch):
    """A strategic merge patch: maps are merged, and lists whose items have names by these."""
    if isinstance(patch, dict) and isinstance(old, dict):
        made = dict(old)
        for key, value in patch.items():
            if key.startswith("$"):
                continue
            if value is None:
                made.pop(key, None)
            else:
                made[key] = merged(made.get(key), value)
        return made
    if isinstance(patch, list) and isinstance(old, list) and all(isinstance(one, dict) and "name" in one for one in patch):
        names = {one["name"]: one for one in old}
        for one in patch:
            names[one["name"]] = merged(names.get(one["name"]), one)
            if one.get("$patch") == "delete":
                del names[one["name"]]
        return list(names.values())
    return {key: value for key, value in patch.items() if not key.startswith("$")} if isinstance(patch, dict) else patch


def grows(old: dict, new: dict) -> bool:
    """A claim may ask for more, in mebibytes or more, and for nothing else."""
    rest = [{key: each for key, each in one.items() if key != "resources"} for one in (old, new)]
    sizes = [int(size[:-2]) << "MGT".index(size[-2]) * 10 for size in (one["resources"]["requests"]["storage"] for one in (old, new))]
    return rest[0] == rest[1] and sizes[0] <= sizes[1]


class ClusterAPI:
    """Objects by plural and name; `seen` has each change of what is there."""

    def __init__(self):
        self.objects: dict[tuple[str, str], dict] = {}
        self.seen: list[tuple[str, str, str]] = []
        self.jobs_fail = False
        self.version = 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, given = api.handle(self.command, urlsplit(self.path), json.loads(body) if body else None)
                text = json.dumps(given).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.listener.shutdown()
        self.listener.server_close()

    def handle(self, method: str, url, body) -> tuple[int, dict]:
        parts = url.path.strip("/").split("/")
        if "namespaces" not in parts:
            return self.discovery(url.path)
        if url.path == "/api/v1/namespaces/pinledger":
            return 200, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "pinledger"}}
        plural, *name = parts[parts.index("namespaces") + 2 :]
        kind = KINDS["/".join(parts[1 : parts.index("namespaces")])][plural]
        name = name[0] if name else (body or {}).get("metadata", {}).get("name")
        if method == "GET" and name is None:
            return 200, self.listed(kind, plural, parse_qs(url.query))
        known = self.objects.get((plural, name))
        if method == "POST":
            if known is not None:
                return refusal(409, "AlreadyExists", f"{plural} {name!r} already exists")
            self.seen.append((method, plural, name))
            return 201, self.keep(plural, body)
        if known is None:
            return refusal(404, "NotFound", f"{plural} {name!r} not found")
        if method == "GET":
            return 200, known
        if method == "DELETE":
            self.seen.append((method, plural, name))
            return 200, self.objects.pop((plural, name))
        changed = merged(copy.deepcopy(known), body)
        # Helm patches disruption budgets at every upgrade, with what they are.
        if changed == known:
            return 200, known
        fixed = [{key: each for key, each in one.get("spec", {}).items() if key not in CHANGEABLE} for one in (known, changed)]
        if kind == "StatefulSet" and fixed[0] != fixed[1] or kind == "Job" and known["spec"] != changed["spec"]:
            return refusal(422, "Invalid", f"{kind} {name} is invalid: spec: Forbidden: updates to fields that cannot be changed")
        if kind == "PersistentVolumeClaim" and not grows(known["spec"], changed["spec"]):
            return refusal(422, "Invalid", f"{kind} {name} is invalid: spec: Forbidden: spec is immutable after creation except resources.requests")
        self.seen.append((method, plural, name))
        return 200, self.keep(plural, changed)

    def keep(self, plural: str, one: dict) -> dict:
        self.version += 1
        one["metadata"] |= {"resourceVersion": str(self.version), "namespace": "pinledger"}
        if plural == "jobs":
            one["status"] = {"conditions": [{"type": "Failed" if self.jobs_fail else "Complete", "status": "True"}]}
        self.objects[plural, one["metadata"]["name"]] = one
        return one

    def listed(self, kind: str, plural: str, query: dict) -> dict:
        """The objects that selectors ask for; a watch of them that ends at once, with what is there."""
        wanted = [pair.split("=", 1) for text in query.get("labelSelector", []) for pair in text.split(",")]
        names = [text.removeprefix("metadata.name=") for text in query.get("fieldSelector", [])]
        items = [
            one for (each, name), one in sorted(self.objects.items())
            if each == plural and name in (names or [name]) and all(one["metadata"].get("labels", {}).get(key) == value for key, value in wanted)
        ]  # fmt: skip
        return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.version)}, "items": items}

    def discovery(self, path: str) -> tuple[int, dict]:
        if path == "/version":
            return 200, {"major": "1", "minor": "30", "gitVersion": "v1.30.0"}
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            versions = {name: {"groupVersion": name, "version": name.rpartition("/")[2]} for name in KINDS if "/" in name}
            groups = [{"name": name.partition("/")[0], "versions": [one], "preferredVersion": one} for name, one in versions.items()]
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        if path == "/openapi/v3":
            return 200, {"paths": {root(name): {"serverRelativeURL": f"/openapi/v3/{root(name)}"} for name in KINDS}}
        name = path.removeprefix("/openapi/v3").removeprefix("/apis/").removeprefix("/api/")
        if name not in KINDS:
            return refusal(404, "NotFound", path)
        if path.startswith("/openapi/"):
            # Helm validates objects by itself where the API does not say that it does so.
            group, _, version = name.rpartition("/")
            said = {"parameters": [{"name": "fieldValidation", "in": "query"}]}
            kinds = {each: {"group": group, "version": version, "kind": kind} for each, kind in KINDS[name].items()}
            paths = {f"/{root(name)}/{each}": {"patch": said | {"x-kubernetes-group-version-kind": kind}} for each, kind in kinds.items()}
            return 200, {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.30.0"}, "paths": paths}
        verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
        resources = [{"name": each, "kind": kind, "namespaced": True, "verbs": verbs} for each, kind in KINDS[name].items()]
        return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}


def root(version: str) -> str:
    """The path of a group and version."""
    return f"apis/{version}" if "/" in version else f"api/{version}"


def refusal(status: int, reason: str, message: str) -> tuple[int, dict]:
    return status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": status}
