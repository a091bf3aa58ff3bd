"""The contract's operations, a request for each of them, and who makes it: for tests of many operations alike."""

import contextlib
import http.client
import re
import select
from pathlib import Path

from contract import operations, resolved
from people import Person
from pinledger import API, Answer, from_now, pin_hex, pin_of

ROOT = Path(__file__).parents[2]
MINE, HOST = "com.example.operations.mine", "mine.example.com"
OTHERS, OTHER_HOST = "org.example.operations.theirs", "theirs.example.org"
NOWHERE = "org.example.operations.nowhere"
# An app and a host that a test makes, and ids that are well formed and name nothing.
FILLINGS = {
    "app": MINE, "host": HOST,
    "pin": pin_hex(pin_of("nothing")), "kid": "none", "key_id": "tlk_0000000000000000", "token_id": "tok_0000000000000000",
    "webhook_id": "whk_0000000000000000", "position": "0", "code": "G07", "client": "wultra", "format": "android_nsc",
    "rotation": "none", "feed": "cal_0000000000000000", "principal_id": "prn_0000000000000000", "role": "own-role",
    "grant_id": "grt_0000000000000000", "id": "1", "key": "text", "language": "en",
    "change_id": "chg_0000000000000000", "freeze_id": "frz_0000000000000000", "rule": "own-rule",
    "provider": "own-provider", "identity_id": "idn_0000000000000000",
}  # fmt: skip

# Streams do not end by themselves.
STREAMS = {"streamEvents", "streamDocument", "streamDocuments"}

ALL = [*operations()]
OPERATIONS = [one for one in ALL if one[2]["operationId"] not in STREAMS]
WITH_BODY = [one for one in OPERATIONS if "requestBody" in one[2]]
WITH_PARAMETERS = [one for one in OPERATIONS if "{" in one[0]]
ON_APPS = [one for one in OPERATIONS if "{app}" in one[0]]
# Behind a permission, and answered in the API's own form.
GUARDED = [one for one in ALL if "x-permission" in one[2] and not one[0].startswith(("/log/", "/compat/"))]


def name_of(one) -> str:
    return one[2]["operationId"] if isinstance(one, tuple) else str(one)


def named(name: str) -> tuple:
    (found,) = (one for one in ALL if name_of(one) == name)
    return found


def parameters_of(one) -> list[str]:
    return re.findall(r"\{(\w+)\}", one[0])


def is_operators(one) -> bool:
    """Tells what operators ask for from what clients do, which is public."""
    return one[0].startswith(("/v1/", "/calendars/"))


def target(path: str, **values: str) -> str:
    """The path with these values of its parameters, and for the others those of FILLINGS."""
    filled = FILLINGS | values
    return re.sub(r"\{(\w+)\}", lambda match: filled.get(match[1], "x"), path)


def example(operation: dict):
    """The body of the contract's own example, so that nothing is refused for its body alone."""
    content = resolved(operation["requestBody"])["content"].get("application/json", {})
    return content.get("example") or next(iter(content.get("examples", {"": {"value": {}}}).values()))["value"]


def call(api: API, one, where: str | None = None, body=..., **headers) -> Answer:
    """A request for an operation: with the contract's example for a body, unless another is given. A stream is asked for its head."""
    path, method, operation = one
    if "requestBody" not in operation:
        body = None
    elif body is ...:
        body = example(operation)
    method = "HEAD" if name_of(one) in STREAMS else method.upper()
    return api.request(method, target(path) if where is None else where, body, headers or None)


def try_out(api: API, one, app: str = MINE) -> Answer:
    """A request that is refused for nothing but a permission, or its body: that one, if it takes one, is empty."""
    where = target(one[0], app=app, **({"format": "pinledger_document"} if name_of(one) == "importFile" else {}))
    return call(api, one, where + (f"?app={app}" if one[0].startswith("/v1/import/") else ""), {})


# Answers

SECRET = re.compile(r"pk_(adm|ci|tel|cal|cli|wrp|ses|web)_[0-9A-Za-z]{36}|-----BEGIN [A-Z ]*PRIVATE KEY")


def is_denied(answer: Answer) -> bool:
    return answer.status == 403 and (not answer.body or answer.json["type"] == "/problems/permission_denied")


def examined(answer: Answer) -> Answer:
    """An answer as every test wants it: no error of the server's, and a refusal gives nothing away."""
    assert answer.status < 500 or answer.status == 503, answer
    if answer.status >= 400:
        said = answer.body.decode(errors="replace") + "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
        assert not SECRET.search(said), said
        assert str(ROOT) not in said and ".swift:" not in said and "SQLSTATE" not in said, said
    return answer


def ask(api: API, one, where: str | None = None, body=..., **headers) -> Answer:
    return examined(call(api, one, where, body, **headers))


class KeepAlive(API):
    """The API over one connection that stays open."""

    def __init__(self, api: API, token: str | None | type(...) = ...):
        super().__init__(api.port, api.token if token is ... else token)
        self.kept = http.client.HTTPConnection("127.0.0.1", api.port, timeout=300)

    @contextlib.contextmanager
    def connected(self):
        # A connection with something to read between two requests is one that the server has closed.
        if self.kept.sock is not None and select.select([self.kept.sock], [], [], 0)[0]:
            self.kept.close()
        try:
            yield self.kept
        except BaseException:
            self.kept.close()
            raise


class Offenders:
    """The operations of a sweep that do not do what all should, each with what is wrong."""

    def __init__(self):
        self.found: list[str] = []
        self.asked = 0

    @contextlib.contextmanager
    def of(self, one):
        """Takes down what fails for an operation, so that the sweep goes on with the next."""
        self.asked += 1
        try:
            yield
        except AssertionError as error:
            self.found.append(f"{name_of(one)}: {str(error)[:1000]}")


@contextlib.contextmanager
def sweep(admin: API, *, records: bool = False):
    """Fails for all offenders at once, and, unless the requests are such as record something, for what was recorded meanwhile."""
    mark = admin.mark()
    offenders = Offenders()
    yield offenders
    assert not offenders.found, f"{len(offenders.found)} of {offenders.asked}:\n" + "\n".join(offenders.found)
    assert offenders.asked, "no operation was asked"
    recorded = [] if records else admin.since(mark)
    assert not recorded, recorded


# Two owners of apps


def make_apps(admin: API) -> None:
    for app, host in ((MINE, HOST), (OTHERS, OTHER_HOST)):
        admin.make_app(app, host)


def handles_of_others(admin: API) -> dict[str, str]:
    """Things of another app, or of the installation, by the names of their parameters."""
    path = f"/v1/apps/{OTHERS}"
    person = Person(admin, "Their admin", "admin", "org.example.*")
    admin.must("PUT", "/v1/access/approval-rules/theirs", {
        "apps": ["org.example.families.none"], "approvals": 1, "permissions": ["apps.change"]})  # fmt: skip
    return {
        # Principals belong to no app: who reads access on one app sees their names, and no grants on others.
        "host": OTHER_HOST, "pin": pin_hex(pin_of(f"{OTHER_HOST} primary ")), "token_id": person.token_id,
        "grant_id": admin.get(f"/v1/access/principals/{person.id}").json["grants"][0]["grant_id"],
        "key_id": admin.must("POST", f"{path}/telemetry-keys", {}).json["key_id"],
        "feed": admin.must("POST", f"{path}/calendar-feeds", {}).json["feed_id"],
        "webhook_id": admin.must("POST", "/v1/webhooks", {"url": "https://hooks.invalid/pins"}).json["webhook_id"],
        "kid": admin.get("/v1/keys").json["keys"][0]["kid"],
        "change_id": person.api.must("PATCH", f"{path}?change=new", {"display_name": "Theirs", "reason": "x"}).json["change_id"],
        "freeze_id": admin.must("POST", "/v1/access/freezes", {
            "apps": ["org.example.*"], "from": from_now(days=1), "until": from_now(days=2)}).json["freeze_id"],
        "rule": "theirs",
    }  # fmt: skip


# Parameters that are no id of a thing that someone made: values of the contract, and names that a request may give.
NO_HANDLES = {
    "position", "code", "client", "format", "id", "key", "language", "rotation", "provider", "identity_id", "role", "principal_id", "domain",
}  # fmt: skip


def handle_names(one) -> list[str]:
    """The parameters of an operation that name things someone made, but for the app."""
    return [name for name in parameters_of(one) if name not in NO_HANDLES | {"app"}]
