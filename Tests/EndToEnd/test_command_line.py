"""What belongs to no one command: names for servers, the first page to look at, any request, and forms of output."""

import contextlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from nodes import start_node
from people import Person
from pinledger import API, BINARY, Server, from_now

SHOP, HOST = "com.example.shop", "api.example.com"


@pytest.fixture(scope="module")
def node(own_server):
    own_server.api.make_app(SHOP, HOST)
    return own_server


class Desk:
    """A user of another machine, who has a home and no server beside it."""

    def __init__(self, home):
        self.home = home

    def __call__(self, *words: str, status: int = 0, input: str | None = None, **variables: str):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PINLEDGER_DATA": str(self.home / "none")}
        done = subprocess.run(
            [BINARY, *words], env=environment | variables, input=input, capture_output=True, text=True, timeout=60, cwd=self.home)
        assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done

    def token(self, api, name: str) -> str:
        file = self.home / name
        file.write_text(api.token)
        file.chmod(0o600)
        return name


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_a_context_names_a_server_and_its_token(node, desk):
    token = desk.token(node.api, "token")
    assert "no server is given" in desk("app", "list", status=2).stderr
    said = desk("context", "add", "here", "--server", address(node), "--token-file", token).stdout
    assert said == "here is added, and in use.\n"
    desk("context", "add", "away", "--server", "https://pins.example.com:1")
    assert SHOP in desk("app", "list").stdout
    listed = desk("context", "list").stdout
    assert "*  here" in listed and "session of login" in listed
    kept = desk.home / ".config/pinledger/contexts.yaml"
    assert kept.stat().st_mode & 0o777 == 0o600 and node.api.token not in kept.read_text()
    # The file was named from there, and is found from elsewhere.
    (desk.home / "below").mkdir()
    desk.home = desk.home / "below"
    assert SHOP in desk("app", "list", XDG_CONFIG_HOME=str(kept.parents[1])).stdout


def test_a_flag_comes_before_a_variable_and_both_before_the_context_in_use(node, desk):
    token = desk.token(node.api, "token")
    desk("context", "add", "here", "--server", address(node), "--token-file", token)
    desk("context", "add", "nowhere", "--server", "http://127.0.0.1:1", "--token-file", token)
    desk("context", "use", "nowhere")
    assert "127.0.0.1:1" in desk("app", "list", status=8).stderr
    desk("app", "list", "--context", "here")
    desk("app", "list", PINLEDGER_CONTEXT="here")
    desk("app", "list", "--context", "here", PINLEDGER_CONTEXT="nowhere", PINLEDGER_SERVER="http://127.0.0.1:1")
    assert "127.0.0.1:1" in desk("app", "list", "--server", "http://127.0.0.1:1", PINLEDGER_CONTEXT="here", status=8).stderr
    assert "127.0.0.1:1" in desk("app", "list", PINLEDGER_SERVER="http://127.0.0.1:1", PINLEDGER_CONTEXT="here", status=8).stderr
    assert "not both" in desk("app", "list", "--context", "here", "--server", "x", status=2).stderr
    desk("context", "remove", "nowhere")
    assert "no server is given" in desk("app", "list", status=2).stderr


def test_the_token_of_a_context_goes_to_no_other_server_and_no_others_to_it(node, desk):
    desk("context", "add", "here", "--server", address(node), "--token-file", desk.token(node.api, "token"))
    # Named otherwise, the server gets no token of the context's.
    assert "token" in desk("app", "list", "--server", address(node), status=4).stderr
    # And the variable's token, which is for another server, is not sent to the context's.
    desk("context", "add", "bare", "--server", address(node))
    assert "token" in desk("app", "list", "--context", "bare", PINLEDGER_TOKEN=node.api.token, status=4).stderr


def test_a_directory_that_names_a_server_gets_no_token_from_elsewhere(desk):
    def directory(name: str, **members: str) -> Desk:
        file = desk.home / name / ".pinledger" / "context.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(members))
        file.chmod(0o600)
        return Desk(desk.home / name)

    # No variable names the directory, and this address of the machine counts as another one's.
    given = {"PINLEDGER_DATA": "", "PINLEDGER_ALLOW_HTTP": "1"}
    with answering(lambda method, path: (200, {}, b'{"apps":[]}')) as (url, got):
        other = url.replace("127.0.0.1", "0.0.0.0")
        bare, own, here = directory("bare", server=other), directory("own", server=other, token="pk_own"), directory("here", server=url)
        assert "no server is given" in bare("app", "list", status=2, PINLEDGER_TOKEN="pk_secret", **given).stderr
        assert "nothing was sent" in own("app", "list", status=4, PINLEDGER_TOKEN="pk_secret", **given).stderr
        assert "nothing was sent" in own("app", "list", "--token-file", own.token(API(0, "pk_secret"), "token"), status=4, **given).stderr
        assert not got
        said = [own("app", "list", **given), here("app", "list", PINLEDGER_TOKEN="pk_secret", **given)]
        assert [token for *_, token in got] == ["Bearer pk_own", "Bearer pk_secret"]
        for user, done, address in zip((own, here), said, (other, url), strict=True):
            assert f"{user.home}/.pinledger names the server {address}" in done.stderr
        # Named by a variable, the directory is the caller's choice. Named by a flag, the server is.
        assert "names the server" not in here("app", "list", PINLEDGER_DATA=str(here.home / ".pinledger")).stderr
        assert "names the server" not in own("app", "list", "--server", url, **given).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["context", "use", "none"], "there is no context none"),
        (["context", "remove", "none"], "there is no context none"),
        (["app", "list", "--context", "none"], "there is no context none"),
        (["context", "add", "Two Words", "--server", "https://a"], "is no name for a context"),
        (["context", "add", "a", "--server", "ftp://a"], "is no address"),
    ],
)
def test_a_wrong_context_is_refused(desk, words, says):
    assert says in desk(*words, status=2).stderr


def test_contexts_that_others_could_write_are_not_trusted(node, desk):
    desk("context", "add", "here", "--server", address(node))
    kept = desk.home / ".config/pinledger/contexts.yaml"
    kept.chmod(0o666)
    assert "contexts.yaml" in desk("app", "list", status=1).stderr
    kept.chmod(0o600)
    kept.write_text("contexts: [{name: a}]")
    refused = desk("app", "list", status=2).stderr
    assert "contexts.yaml" in refused and "/contexts/0/server" in refused


def test_the_status_is_one_page(tmp_path):
    server = Server()
    try:
        api = server.start().api
        api.make_app(SHOP, HOST)
        calm = server.cli("status", "--exit-code").stdout
        assert "node           ready" in calm and "kill switches  none engaged" in calm and "first admin" in calm
        ada = Person(api, "Ada", "editor")
        Person(api, "Bob", "approver")
        api.must("PUT", "/v1/access/approval-rules/two", {"apps": ["*"], "approvals": 1, "permissions": ["apps.change"]})
        ada.api.request("PATCH", f"/v1/apps/{SHOP}?change=new", {"display_name": "x", "reason": "a new name"})
        api.must("PUT", f"/v1/apps/{SHOP}/kill-switch", {"expires_at": from_now(hours=1), "reason": "incident"})
        shown = server.cli("status", "--exit-code", status=1).stdout
        assert "1 engaged" in shown and f"  {SHOP} until" in shown
        assert "open changes" in shown and "by Ada: a new name" in shown
        answer = server.cli_json("status")
        assert answer["readiness"]["status"] == "ready" and len(answer["changes"]["changes"]) == 1
        api.must("PUT", "/v1/access/roles/reader", {"permissions": ["apps.read"]})
        token = tmp_path / "token"
        token.write_text(api.holding("reader", SHOP).token)
        token.chmod(0o600)
        small = server.cli("status", "--token-file", str(token))
        assert "test" in small.stdout and "This token may not read: nodes, " in small.stderr
    finally:
        server.destroy()


def test_the_status_of_a_server_that_is_gone_is_an_error(desk):
    assert "127.0.0.1:1" in desk("status", "--server", "http://127.0.0.1:1", status=8).stderr


def test_any_request_can_be_sent(node, tmp_path):
    assert json.loads(node.cli("api", "GET", f"/v1/apps/{SHOP}").stdout)["app"] == SHOP
    body = tmp_path / "body.yaml"
    body.write_text("display_name: By hand\nreason: api\n")
    first = json.loads(node.cli("api", "patch", f"/v1/apps/{SHOP}", "--body", str(body), "--idempotency-key", "k-1").stdout)
    again = json.loads(node.cli("api", "PATCH", f"/v1/apps/{SHOP}", "--body", str(body), "--idempotency-key", "k-1").stdout)
    assert first["events"] == again["events"] and first["events"][0]["type"] == "AppRenamed"
    included = node.cli("api", "GET", "/readyz", "--include").stderr
    assert included.startswith("HTTP 200\n") and "request-id: " in included.lower()
    stale = node.cli("api", "PATCH", f"/v1/apps/{SHOP}", "--body", "-", "--header", 'If-Match: "1"',
                     input='{"display_name": "late"}', status=6)  # fmt: skip
    assert stale.stdout == "" and "version" in stale.stderr
    assert "does not exist" in node.cli("api", "GET", "/v1/apps/com.example.none", status=5).stderr
    assert "BREW" in node.cli("api", "BREW", "/", status=2).stderr
    assert "begins without /" in node.cli("api", "GET", "v1/apps", status=2).stderr
    assert "cannot set" in node.cli("api", "GET", "/v1/apps", "--header", "Authorization: Bearer x", status=2).stderr


@pytest.mark.parametrize("words", [["app", "list"], ["app", "show", SHOP], ["host", "list", SHOP], ["key", "list"]])
def test_yaml_says_what_json_says(node, words):
    assert yaml.safe_load(node.cli(*words, "--output", "yaml").stdout) == node.cli_json(*words)


@contextlib.contextmanager
def answering(answer):
    """A server that is none of this program: `answer` gives status, headers and body for a method and a path. The requests it has got."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def handle_request(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            got.append((self.command, self.path, body, self.headers["Authorization"]))
            status, headers, body = answer(self.command, self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_request

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()


READY = {"status": "ready", "serves": True, "serves_documents": True, "writes": True, "signs": True}


@pytest.mark.parametrize(
    "status, body",
    [(404, b"{}"), (403, b"{}"), (200, b"[]"), (200, b"null"), (302, b"{}"), (502, b"<html>Bad gateway</html>"), (200, b'{"serves":true}'),
     (200, b'{"serves":"yes","serves_documents":1,"writes":{},"signs":[]}')],
)  # fmt: skip
def test_the_status_of_another_program_is_an_error(desk, status, body):
    with answering(lambda method, path: (status, {}, body)) as (url, _):
        assert "does not answer as a server of Pinledger" in desk("status", "--server", url, status=8).stderr


def test_the_status_shows_what_there_is_when_parts_fail(desk):
    hostile = "\x1b]0;owned\x07\u202egnp.exe"

    def answer(method: str, path: str):
        parts = {
            "/readyz": (503, {**READY, "writes": False, "write_failure": "the disk is full"}),
            "/v1/whoami": (200, {"actor": {"name": hostile}}),
            "/v1/nodes": (500, {"detail": f"broken {hostile}"}),
            "/v1/kill-switches": (200, {"kill_switches": [{"scope": "fleet", "app": hostile, "expires_at": hostile}]}),
            "/v1/attention": (200, []),
        }
        status, body = parts.get(path, (403, {}))
        return status, {}, json.dumps(body).encode()

    with answering(answer) as (url, _):
        said = desk("status", "--server", url)
        assert "not ready: writes no: the disk is full" in said.stdout and "not available: broken" in said.stdout
        assert "1 engaged" in said.stdout and "open changes" in said.stderr
        assert not {"\x1b", "\x07", "\u202e"} & set(said.stdout + said.stderr)
        desk("status", "--server", url, "--exit-code", status=1)
    long = b'{"counts":[' + b"0," * 3_000_000 + b"0]}"
    with answering(lambda method, path: (200, {}, json.dumps(READY).encode() if path == "/readyz" else long)) as (url, _):
        assert "more than" in desk("status", "--server", url, "--exit-code", status=1).stdout


def test_nodes_that_only_serve_are_not_in_trouble(node, desk):
    reader, api = start_node(node, "status reader", "--read-only")
    try:
        said = desk("status", "--server", f"http://127.0.0.1:{reader.port}", "--exit-code", PINLEDGER_TOKEN=api.token)
        assert "ready (read-only)" in said.stdout
    finally:
        reader.stop()
    serving = {**READY, "writes": False, "signs": False}
    with answering(lambda method, path: (200, {}, json.dumps(serving).encode()) if path == "/readyz" else (404, {}, b"{}")) as (url, _):
        said = desk("status", "--server", url, "--exit-code")
        assert "clients and edges alone" in said.stderr
    assert "token" in desk("status", "--server", address(node), status=4, PINLEDGER_TOKEN="pk_wrong").stderr


def test_a_context_without_a_home_is_an_error(node, desk):
    elsewhere = {"HOME": "", "PINLEDGER_SERVER": address(node), "PINLEDGER_TOKEN": node.api.token}
    assert "HOME" in desk("app", "list", "--context", "production", status=2, **elsewhere).stderr
    del elsewhere["PINLEDGER_SERVER"]
    assert "HOME" in desk("app", "list", status=2, PINLEDGER_CONTEXT="production", **elsewhere).stderr


@pytest.mark.parametrize(
    "words",
    [["--server", "https://"], ["--server", "https://me:secret@pins.example.com"], ["--server", "https://a/?b"], ["--server", "ftp://a"],
     ["--server", "https://a", "--token-file", "-"], ["--server", "https://a", "--token-file", ""], ["--server", "https://a", "--client-certificate", "x"]],
)  # fmt: skip
def test_a_context_for_no_server_is_refused(desk, words):
    desk("context", "add", "wrong", *words, status=2)
    assert desk("context", "list").stdout == ""


def test_contexts_that_are_added_at_once_are_all_kept(desk):
    threads = [
        threading.Thread(target=desk, args=("context", "add", f"name-{number}", "--server", f"https://pins{number}.example.com"))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = json.loads(desk("context", "list", "--output", "json").stdout)
    assert [context["name"] for context in kept["contexts"]] == [f"name-{number}" for number in range(8)]


def test_a_request_is_sent_as_it_was_given_or_not_at_all(desk):
    with answering(lambda method, path: (200, {}, b"{}")) as (url, got):
        body = '{"a": 1.5, "b": 12345678901234567890, "c": 1.0}'
        desk("api", "POST", "/x", "--body", "-", "--server", url, input=body)
        assert got[-1][:3] == ("POST", "/x", body.encode())
        desk("api", "POST", "/x", "--body", "-", "--server", url, input="a: 1\nb: [x]\n")
        assert json.loads(got[-1][2]) == {"a": 1, "b": ["x"]}
        count = len(got)
        for wrong in (["--header", "X Y: 1"], ["--header", "X: a\nb"], ["--header", ":v"], ["--idempotency-key", "a\nb"], ["--idempotency-key", ""]):
            desk("api", "POST", "/x", *wrong, "--server", url, status=2)
        assert len(got) == count
    with answering(lambda method, path: (307, {"Location": "https://elsewhere.example.com/"}, b"")) as (url, got):
        for method in ("GET", "POST", "DELETE"):
            assert "elsewhere.example.com" in desk("api", method, "/x", "--server", url, status=8).stderr
        assert len(got) == 3


def test_a_part_of_an_answer_can_be_asked_for(server):
    server.api.make_app("com.example.queried.one", "api.example.com")
    server.api.make_app("com.example.queried.two", "api.example.com")
    names = server.cli("app", "list", "--query", "apps[*].app").stdout.splitlines()
    assert {"com.example.queried.one", "com.example.queried.two"} <= set(names)
    app = ("app", "show", "com.example.queried.one")
    assert server.cli(*app, "--query", "$.app").stdout == "com.example.queried.one\n"
    # As JSON a text keeps its quotes.
    assert server.cli(*app, "--query", "app", "-o", "json").stdout == '"com.example.queried.one"\n'
    assert int(server.cli(*app, "--query", "version").stdout) >= 1
    assert server.cli("api", "get", "/v1/apps/com.example.queried.one", "--query", "app").stdout == "com.example.queried.one\n"
    missing = server.cli(*app, "--query", "nothing", status=5)
    assert "no value at the path" in missing.stderr and missing.stdout == ""
    assert server.cli(*app, "--query", "nothing[*]").stdout == ""
    assert "invalid" in server.cli(*app, "--query", "a[?@.b]", status=2).stderr


@pytest.mark.parametrize(
    "words, suggested",
    [
        ("aap list", "`pinledger app`"), ("app lst", "`pinledger app list`"), ("app ls", "`pinledger app list`"), ("app stat", None),
        ("rollout stat x", "`pinledger rollout status`"), ("host delete x y", "`pinledger host remove`"),
        ("kill disengage", "`pinledger kill release`"), ("zzzz", None), ("edge conf show", "`pinledger edge config`"),
    ],
)  # fmt: skip
def test_a_mistyped_command_is_answered_by_the_nearest_one(words, suggested):
    done = subprocess.run([BINARY, *words.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "", done
    assert " has no command " in done.stderr
    assert f"Did you mean {suggested}?" in done.stderr if suggested else "--help` lists its commands." in done.stderr
    # A word too many, or an option, is another mistake.
    done = subprocess.run([BINARY, "app", "list", "more"], capture_output=True, text=True, timeout=60)
    assert "has no command" not in done.stderr and done.returncode == 2


def test_lists_are_shown_as_names_alone_and_with_all_values(node):
    apps = [f"com.example.forms{index}" for index in range(3)]
    for app in apps:
        node.api.make_app(app, HOST)
    shown = node.cli("app", "list", "--output", "name").stdout.splitlines()
    assert set(apps) <= set(shown) and all(" " not in line for line in shown)
    usual, wide = (node.cli("app", "list", "--output", form).stdout.splitlines() for form in ("table", "wide"))
    # A column for each value that the table does not have: not for one that it shows under another name.
    assert wide[0].startswith(usual[0]) and "rollout_revision" in wide[0] and "updated_at" not in wide[0]
    assert node.cli("app", "show", apps[0], "--output", "wide").stdout == node.cli("app", "show", apps[0]).stdout
    assert node.cli("webhook", "list", "--output", "name").stdout == ""
    # For other programs: no line beside the names.
    nodes = [each["name"] for each in node.cli_json("node", "list")["nodes"]]
    assert node.cli("node", "list", "--output", "name").stdout.splitlines() == nodes
    assert "--watch asks again" in node.cli("app", "adoption", apps[0], "--watch", "1", "--token-file", "-", input="x", status=2).stderr
