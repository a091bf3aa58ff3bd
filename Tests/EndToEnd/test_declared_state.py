"""Declared state on the command line: export, plan, apply, with files of keys, approvals, drift, and files that are wrong."""

import json
import os

import pytest
import specs_schema
import yaml
from jsonschema import Draft202012Validator
from people import Person
from pinledger import FULL, Server, host_body
from specs import RandomSpecs, content
from tls_server import Key

SHOP, TILL, HOST = "com.example.shop", "com.example.till", "api.example.com"


@pytest.fixture(scope="module")
def node(own_server):
    for app in (SHOP, TILL):
        own_server.api.make_app(app, HOST)
    return own_server


@pytest.fixture
def pins(node, tmp_path):
    """What the server has, as files."""
    node.cli("export", "yaml", "--output", f"{tmp_path}/pins/")
    return tmp_path / "pins"


def edit(file, change) -> None:
    state = yaml.safe_load(file.read_text())
    change(state["apps"][0])
    file.write_text(yaml.safe_dump(state))


def test_the_plan_of_an_export_is_empty(node, pins):
    assert {f"{SHOP}.yaml", f"{TILL}.yaml"} <= {file.name for file in pins.iterdir()}
    for file in pins.iterdir():
        assert not list(Draft202012Validator(specs_schema.schema()).iter_errors(yaml.safe_load(file.read_text())))
    shown = node.cli("plan", "--file", str(pins), "--prune", "--detailed-exitcode").stdout
    assert shown.startswith("0 to change, ")
    one = node.cli("export", "yaml", SHOP).stdout
    assert one == (pins / f"{SHOP}.yaml").read_text()
    assert yaml.safe_load(one)["apps"][0]["app"] == SHOP
    node.cli("export", "yaml", SHOP, "--check", str(pins / f"{SHOP}.yaml"))


def test_a_plan_is_shown_applied_as_shown_and_empty_afterwards(node, pins, tmp_path):
    edit(pins / f"{SHOP}.yaml", lambda app: app.update(display_name="Shop 2"))
    plan = str(tmp_path / "plan.json")
    shown = node.cli("plan", "--file", str(pins), "--out", plan, "--detailed-exitcode", status=2).stdout
    assert "+ AppRenamed display_name=Shop 2" in shown and "1 to change, " in shown
    assert node.api.get(f"/v1/apps/{SHOP}").json["display_name"] != "Shop 2"
    assert node.cli("apply", "--plan", plan).stdout == f"{SHOP}: recorded.\n"
    assert node.api.get(f"/v1/apps/{SHOP}").json["display_name"] == "Shop 2"
    node.cli("plan", "--file", str(pins), "--prune", "--detailed-exitcode")
    # The same plan once more would do something else, which is nothing.
    refused = node.cli("apply", "--plan", plan, status=6)
    assert "plan" in refused.stderr and "Nothing is recorded." in refused.stderr


def test_a_plan_made_before_the_change_of_another_is_refused(node, pins, tmp_path):
    edit(pins / f"{TILL}.yaml", lambda app: app["hosts"][0].update(include_subdomains=True))
    plan = str(tmp_path / "plan.json")
    node.cli("plan", "--file", str(pins), "--out", plan)
    node.api.must("PATCH", f"/v1/apps/{TILL}/hosts/{HOST}", {"include_subdomains": True, "reason": "by hand"})
    mark = node.api.mark()
    refused = node.cli("apply", "--plan", plan, status=6)
    assert TILL in refused.stderr
    assert node.api.since(mark) == []
    node.api.must("PATCH", f"/v1/apps/{TILL}/hosts/{HOST}", {"include_subdomains": False, "reason": "by hand"})


def test_pins_come_from_files_beside_the_yaml_file(node, tmp_path):
    key = Key(tmp_path, "next", HOST)
    app = "com.example.files"
    (tmp_path / "keys").mkdir()
    key.request.rename(tmp_path / "keys" / "next.csr.pem")
    spec = {"app": app, "hosts": [host_body(HOST)]}
    spec["hosts"][0]["baseline"]["pins"][1] = {"file": "keys/next.csr.pem", "role": "backup", "note": "HSM 2"}
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump({"apps": [spec]}))
    assert not list(Draft202012Validator(specs_schema.schema()).iter_errors(yaml.safe_load(file.read_text())))
    node.cli("apply", "--file", str(file), "--reason", "with a request")
    pins = node.api.get(f"/v1/apps/{app}").json["hosts"][0]["baseline"]["pins"]
    assert [pin["key"]["algorithm"] for pin in pins if pin["role"] == "backup"] == ["ec"]
    node.cli("plan", "--file", str(file), "--prune", "--detailed-exitcode")
    # From elsewhere it is the same file.
    node.cli("plan", "--file", "-", "--detailed-exitcode", input=yaml.safe_dump({"apps": [{"app": app}]}))
    spec["hosts"][0]["baseline"]["pins"][1]["file"] = "keys/none.pem"
    file.write_text(yaml.safe_dump({"apps": [spec]}))
    refused = node.cli("plan", "--file", str(file), status=2)
    assert "keys/none.pem does not exist" in refused.stderr and app in refused.stderr


def test_a_file_with_a_private_key_stays_here(node, tmp_path):
    key = Key(tmp_path, "secret", HOST)
    spec = {"app": "com.example.secret", "hosts": [host_body(HOST)]}
    spec["hosts"][0]["baseline"]["pins"][1] = {"file": key.key.name, "role": "backup"}
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump({"apps": [spec]}))
    refused = node.cli("plan", "--file", str(file), status=2)
    assert "private key" in refused.stderr
    assert node.api.get("/v1/apps/com.example.secret").status == 404


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("apps: [", "neither YAML nor JSON"),
        ("", "holds no values"),
        ("hosts: []", "/apps"),
        ("apps: []", "there are no apps"),
        ("apps: [{app: a.b}, {app: a.b}]", "a.b is there twice"),
        ("apps: [{display_name: x}]", "must have a member app"),
        ("apps: [{app: a.b, reason: x}]", "give it to the command, as --reason"),
        ("apps: [{app: a.b}]\nmore: 1", "/more"),
        ("apps: [5]", "must be an app"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_sent(node, tmp_path, text, says):
    file = tmp_path / "app.yaml"
    file.write_text(text)
    assert says in node.cli("plan", "--file", str(file), status=2).stderr
    # Told apart from a difference.
    node.cli("plan", "--file", str(file), "--detailed-exitcode", status=1)


def test_the_same_app_in_two_files_is_refused(node, tmp_path):
    for name in ("a.yaml", "b.yml"):
        (tmp_path / name).write_text("apps: [{app: com.example.twice}]")
    refused = node.cli("plan", "--file", str(tmp_path), status=2)
    assert "com.example.twice is in" in refused.stderr


def test_nothing_is_recorded_if_a_part_is_refused(node, tmp_path):
    alone = host_body(HOST)
    del alone["baseline"]["pins"][1]
    specs = [{"app": "com.example.fine"}, {"app": "com.example.alone", "hosts": [alone]}, {"app": "com.example.bad", "hosts": 5}]
    file = tmp_path / "apps.yaml"
    file.write_text(yaml.safe_dump({"apps": specs}))
    refused = node.cli("apply", "--file", str(file), status=3)
    assert "com.example.alone: refused" in refused.stdout and "1 active pin" in refused.stdout
    assert "com.example.bad: refused" in refused.stdout and "/hosts" in refused.stdout
    assert "1 to change, 0 up to date, 2 refused." in refused.stdout
    assert node.api.get("/v1/apps/com.example.fine").status == 404
    answer = json.loads(node.cli("plan", "--file", str(file), "--output", "json", status=3).stdout)
    assert [app["status"] for app in answer["apps"]] == ["refused", "refused", "changes"]


def test_other_apps_are_archived_only_where_that_is_asked(tmp_path):
    server = Server()
    try:
        server.start().api.make_app(SHOP, HOST)
        server.api.make_app(TILL, HOST)
        server.cli("export", "yaml", SHOP, "--output", str(tmp_path / "shop.yaml"))
        server.cli("plan", "--file", str(tmp_path / "shop.yaml"), "--prune", "--detailed-exitcode")
        shown = server.cli(
            "plan", "--file", str(tmp_path / "shop.yaml"), "--archive-others", "--reason", "gone", "--detailed-exitcode", status=2)
        assert f"{TILL}:" in shown.stdout and "AppArchived" in shown.stdout
        server.cli("apply", "--file", str(tmp_path / "shop.yaml"), "--archive-others", "--reason", "gone")
        assert server.api.get(f"/v1/apps/{TILL}").json["archived_at"]
        assert "archived_at" not in server.api.get(f"/v1/apps/{SHOP}").json
    finally:
        server.destroy()


def test_specs_that_need_approvals_become_one_proposed_change(tmp_path):
    server = Server()
    try:
        admin = server.start().api
        for app in (SHOP, TILL):
            admin.make_app(app, HOST)
        ada, bob = Person(admin, "Ada", "editor"), Person(admin, "Bob", "approver")
        admin.must("PUT", "/v1/access/approval-rules/two", {"apps": ["*"], "approvals": 1, "permissions": ["apps.change"]})
        server.cli("export", "yaml", "--output", f"{tmp_path}/pins/")
        for app in (SHOP, TILL):
            edit(tmp_path / f"pins/{app}.yaml", lambda state: state.update(display_name="Approved"))
        token = tmp_path / "token"
        token.write_text(ada.api.token)
        token.chmod(0o600)
        words = ["--file", f"{tmp_path}/pins", "--token-file", str(token), "--reason", "pins.git at 4f2a9c1"]
        refused = server.cli("plan", *words, status=4)
        assert "--propose" in refused.stdout
        assert "2 to change" in server.cli("plan", *words, "--propose").stdout
        change = json.loads(server.cli("apply", *words, "--propose", "--output", "json").stdout)
        assert change["status"] == "proposed" and len(change["commands"]) == 2
        body = {"content_sha256": change["content_sha256"]}
        bob.api.must("POST", f"/v1/changes/{change['change_id']}/approve", body)
        ada.api.must("POST", f"/v1/changes/{change['change_id']}/apply", {})
        assert {admin.get(f"/v1/apps/{app}").json["display_name"] for app in (SHOP, TILL)} == {"Approved"}
        assert "0 to change" in server.cli("plan", *words, "--propose").stdout
        nothing = server.cli("apply", *words, "--propose")
        assert "0 to change" in nothing.stdout
    finally:
        server.destroy()


def test_random_states_survive_yaml(tmp_path):
    """What another reader of YAML finds in the files, and what the program does, is what the server said."""
    source, target = Server(), Server()
    try:
        source.start(), target.start()
        drawn = RandomSpecs(7)
        apps = [f"com.example.yaml{number}" for number in range(40 if FULL else 15)]
        for app in apps:
            source.api.must("PUT", f"/v1/apps/{app}/spec", drawn.spec() | {"reason": "drawn", "force": True})
        source.cli("export", "yaml", "--output", f"{tmp_path}/pins/")
        for app in apps:
            [read] = yaml.safe_load((tmp_path / f"pins/{app}.yaml").read_text())["apps"]
            assert read == {"app": app} | source.api.get(f"/v1/apps/{app}/spec").json
        source.cli("plan", "--file", f"{tmp_path}/pins", "--prune", "--detailed-exitcode")
        target.cli("apply", "--file", f"{tmp_path}/pins", "--reason", "moved", "--force")
        assert [content(target.api, app) for app in apps] == [content(source.api, app) for app in apps]
        again = target.cli("export", "yaml").stdout
        assert again == source.cli("export", "yaml").stdout
    finally:
        source.destroy()
        target.destroy()


def test_the_schema_is_printed(node):
    assert json.loads(node.cli("plan", "--schema").stdout) == specs_schema.schema()


def test_flags_that_contradict_are_refused(node, tmp_path):
    assert "--file" in node.cli("plan", status=2).stderr
    assert "--plan goes with none of" in node.cli("apply", "--plan", "x", "--prune", status=2).stderr
    file = tmp_path / "no-plan.json"
    file.write_text('{"apps": []}')
    assert "is no plan" in node.cli("apply", "--plan", str(file), status=2).stderr


def test_a_place_that_no_plan_changes_counts_as_a_difference(node, tmp_path):
    app = "com.example.differs"
    node.api.make_app(app, HOST)
    spec = {"app": app, "hosts": [host_body(HOST)]}
    spec["hosts"][0]["baseline"]["pins"][0]["state"] = "staged"
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump({"apps": [spec]}))
    shown = node.cli("plan", "--file", str(file), "--detailed-exitcode", status=2).stdout
    assert "0 to change, 0 up to date, 1 not as the specs say, which stay." in shown
    assert "cannot become a staged one again" in shown


def test_a_plan_is_for_its_server_and_nothing_else(node, pins, tmp_path):
    edit(pins / f"{SHOP}.yaml", lambda app: app.update(display_name="Elsewhere"))
    plan = tmp_path / "plan.json"
    node.cli("plan", "--file", str(pins), "--out", str(plan))
    made = json.loads(plan.read_text())
    plan.write_text(json.dumps(made | {"server": "http://127.0.0.1:1"}))
    assert "the plan is for http://127.0.0.1:1" in node.cli("apply", "--plan", str(plan), status=2).stderr
    made["apps"][0]["plan_hash"] += "&dry_run=true"
    plan.write_text(json.dumps(made))
    assert "plan_hash" in node.cli("apply", "--plan", str(plan), status=2).stderr
    # A plan that is refused leaves none of before.
    (tmp_path / "bad.yaml").write_text("apps: [{app: com.example.bad, hosts: 5}]")
    node.cli("plan", "--file", str(tmp_path / "bad.yaml"), "--out", str(plan), status=3)
    assert not plan.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &a [x]\napps: {? *a : 1}", "a key that is no text"),
        ("a: &a [x]\nb: {*a : 1}", "a key that is no text"),
        ("a: &a [x]\n*a : 1", "a key that is no text"),
        ("x: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(f"x{n}: &a{n} [{','.join(['*a' + (str(n - 1) if n else '')] * 10)}]\n" for n in range(7)),
         "more than"),
        ("apps: [{app: \"a.b\\e[31m\"}]", "must be 1 to 128 letters"),
    ],
    ids=["key behind a question mark", "alias as a key in braces", "alias as a key", "bomb", "control character"],
)  # fmt: skip
def test_hostile_yaml_is_refused_at_once(node, tmp_path, text, says):
    file = tmp_path / "app.yaml"
    file.write_text(text)
    refused = node.cli("plan", "--file", str(file), status=2).stderr
    assert says in refused or "/apps" in refused, refused
    assert "\x1b" not in refused


def test_a_byte_order_mark_and_odd_numbers_are_read_as_they_are_meant(node, tmp_path):
    file = tmp_path / "app.yaml"
    file.write_bytes(b"\xef\xbb\xbfapps: [{app: 010, display_name: +5}]")
    assert "010:" in node.cli("plan", "--file", str(file)).stdout


def test_a_pin_is_read_from_a_regular_file_only(node, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        spec = {"app": "com.example.pipe", "hosts": [host_body(HOST)]}
        spec["hosts"][0]["baseline"]["pins"][0] = {"file": name, "role": "primary"}
        (tmp_path / "app.yaml").write_text(yaml.safe_dump({"apps": [spec]}))
        refused = node.cli("plan", "--file", str(tmp_path / "app.yaml"), status=2).stderr
        assert "no regular file" in refused and "com.example.pipe" in refused
