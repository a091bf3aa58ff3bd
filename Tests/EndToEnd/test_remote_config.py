"""Remote configuration as the apps of the old documentation decode it, and templates as Firebase's own SDK evaluates them."""

import base64
import dataclasses
import hashlib
import itertools
import json
import re
import types
import typing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import firebase_admin
import google.auth.credentials
import pytest
from deployed import HOST, KillSwitch, add_host, ask, check_conditional, declare, make_app
from firebase_admin import credentials, remote_config
from names import unique
from pinledger import pin_of
from problems import expect_problem

PARAMETER = "ssl_pinning_config"
OTHER = "cdn.example.com"

# MARK: What apps decode


@dataclass
class Simple:
    enabled: bool
    target_hosts: list[str]
    min_app_version: str


@dataclass
class Pins:
    primary: str
    backup: str
    emergency: str | None = None


@dataclass
class SwiftHost:
    """The Swift app's host, which has no name but its own for the share."""

    enabled: bool
    pins: Pins
    rolloutPercentage: int


@dataclass
class KotlinHost:
    enabled: bool
    pins: Pins
    rollout_percentage: int


@dataclass
class Strategy:
    method: str
    seed: str
    sticky: bool


@dataclass
class Fallback:
    use_builtin_pins: bool
    builtin_pin_hosts: list[str]


@dataclass
class Monitoring:
    enabled: bool
    failure_threshold: float
    auto_disable: bool


@dataclass
class Swift:
    enabled: bool
    rollout_percentage: int
    min_app_version: str
    hosts: dict[str, SwiftHost]
    rollout_strategy: Strategy
    fallback: Fallback
    monitoring: Monitoring


@dataclass
class Kotlin(Swift):
    hosts: dict[str, KotlinHost]


def decode(kind, value):
    """Decodes as strictly as the apps: every member is there unless it may be missing, and is of its type alone."""
    if isinstance(kind, types.UnionType):
        (kind,) = (one for one in typing.get_args(kind) if one is not types.NoneType)
    if dataclasses.is_dataclass(kind):
        assert type(value) is dict, value
        hints, given = typing.get_type_hints(kind), {}
        for field in dataclasses.fields(kind):
            if field.name not in value:
                assert field.default is not dataclasses.MISSING, f"{kind.__name__} cannot be decoded without {field.name}"
                continue
            given[field.name] = decode(hints[field.name], value[field.name])
        return kind(**given)
    if typing.get_origin(kind) is list:
        assert type(value) is list, f"{value!r} is no array"
        return [decode(typing.get_args(kind)[0], one) for one in value]
    if typing.get_origin(kind) is dict:
        assert type(value) is dict
        return {name: decode(typing.get_args(kind)[1], one) for name, one in value.items()}
    assert type(value) is kind, f"{value!r} is no {kind.__name__}"
    return value


def decode_both(text: bytes | str) -> Swift:
    """What the Swift app makes of a value, having seen that the Kotlin app makes the same of it."""
    value = json.loads(text)
    swift, kotlin = decode(Swift, value), decode(Kotlin, value)
    assert {name: host.rolloutPercentage for name, host in swift.hosts.items()} == {
        name: host.rollout_percentage for name, host in kotlin.hosts.items()
    }
    # Dart reads `5` as an integer, and fails to use it where it wants a share.
    assert "." in re.search(r'"failure_threshold":([0-9.]+)', text if isinstance(text, str) else text.decode())[1]
    return swift


def path(app: str, name: str = "") -> str:
    return f"/compat/remote-config/{app}" + (f"/{name}" if name else "")


def fetch(api, app: str, name: str = ""):
    answer = ask(api, path(app, name))
    assert answer.status == 200 and answer["Content-Type"].split(";")[0] == "application/json", str(answer)
    return answer


def test_the_tests_own_decoders_are_strict():
    good = {"enabled": True, "target_hosts": [HOST], "min_app_version": "1.0.0"}
    assert decode(Simple, good | {"more": 1}).target_hosts == [HOST]
    for change in ({"target_hosts": f"{HOST},{OTHER}"}, {"enabled": 1}, {"min_app_version": 1.0}):
        with pytest.raises(AssertionError):
            decode(Simple, good | change)
    with pytest.raises(AssertionError):
        decode(Simple, {"enabled": True, "target_hosts": []})
    with pytest.raises(AssertionError):
        decode(Monitoring, {"enabled": True, "failure_threshold": 5, "auto_disable": True})


@pytest.fixture
def app(api, identities) -> str:
    app = make_app(api, unique("com.example.remote."), *identities[:3])
    declare(api, app, "remote_config")
    return app


# MARK: The value


def test_every_member_is_there_for_apps_that_miss_it(api, app, identities):
    answer = fetch(api, app)
    told = decode_both(answer.body)
    assert told.enabled and told.rollout_percentage == 100 and list(told.hosts) == [HOST]
    host = told.hosts[HOST]
    assert host.enabled and host.rolloutPercentage == 100
    # The first of several in reserve, in byte order.
    backup = min(identities[1:3], key=lambda one: one.digest).pin
    assert (host.pins.primary, host.pins.backup) == (identities[0].pin, backup)
    assert told.rollout_strategy == Strategy("percentage", "device_id", True)
    check_conditional(api, path(app), answer)


def test_a_host_that_enforces_nothing_is_disabled(api, app):
    pins = [{"pin": pin_of("watched 1")}, {"pin": pin_of("watched 2")}]
    add_host(api, app, "watched.example.com", *pins, mode="report_only")
    add_host(api, app, "off.example.com", *pins, mode="off")
    told = decode_both(fetch(api, app).body)
    for name in ("watched.example.com", "off.example.com"):
        assert name not in told.hosts or not told.hosts[name].enabled and told.hosts[name].rolloutPercentage == 0
        assert name not in told.fallback.builtin_pin_hosts
    assert told.hosts[HOST].enabled


def test_the_simple_schema_has_an_array_of_hosts(api, app):
    api.must("POST", f"/v1/apps/{app}/hosts", {"host": OTHER, "baseline": {"source": "builtin"}, "reason": "x", "force": True})
    declare(api, app, "remote_config", {"schema": "simple"})
    told = decode(Simple, fetch(api, app).json)
    assert told.enabled and told.target_hosts == [OTHER]
    with KillSwitch(api, app):
        assert fetch(api, app).json == {"enabled": False, "target_hosts": [], "min_app_version": "1.0.0"}
    assert decode(Simple, fetch(api, app).json) == told


def test_a_kill_switch_is_one_in_every_spelling(api, app):
    before = fetch(api, app)
    with KillSwitch(api, app):
        told = decode_both(fetch(api, app).body)
        assert not told.enabled and told.hosts == {} and told.fallback == Fallback(False, [])
        # Apps of the simple schema understand it too.
        simple = decode(Simple, fetch(api, app).json)
        assert not simple.enabled and simple.target_hosts == []
        if before["ETag"] is not None:
            assert ask(api, path(app), If_None_Match=before["ETag"]).status == 200
    with KillSwitch(api, app, HOST):
        told = decode_both(fetch(api, app).body)
        assert told.enabled and not told.hosts[HOST].enabled and HOST not in told.fallback.builtin_pin_hosts
    assert fetch(api, app).body == before.body


def raw_hash(identity) -> str:
    """What the documented app for iOS computes of a server's key."""
    return "sha256/" + base64.b64encode(hashlib.sha256(identity.raw).digest()).decode()


def test_apps_that_hash_raw_keys_get_hashes_that_they_can_match(api, app, identities):
    declare(api, app, "remote_config", {"hash": "raw_key"})
    host = decode_both(fetch(api, app).body).hosts[HOST]
    assert host.enabled and host.pins.primary == raw_hash(identities[0])
    assert {host.pins.backup, host.pins.emergency} == {raw_hash(identities[1]), raw_hash(identities[2])}
    # Only the pins of these keys are known, which would never match.
    add_host(api, app, OTHER, {"pin": pin_of("cdn 1")}, {"pin": pin_of("cdn 2")})
    for name in ("", "template", "server-template"):
        text = fetch(api, app, name).body.decode()
        assert OTHER not in text and pin_of("cdn 1") not in text and raw_hash(identities[0]) in text
    assert list(decode_both(fetch(api, app).body).hosts) == [HOST]
    (told,) = api.must("GET", f"/v1/apps/{app}/compat?client=remote_config").json["clients"]
    found = [one for one in told["findings"] if one["limit"] == "hash_never_matches"]
    assert sorted((one["host"], one["severity"]) for one in found) == [(OTHER, "differs"), (OTHER, "differs")]
    declare(api, app, "remote_config")
    assert decode_both(fetch(api, app).body).hosts[HOST].pins.primary == identities[0].pin
    assert list(decode_both(fetch(api, app).body).hosts) == sorted([HOST, OTHER])


def test_all_devices_get_the_candidate_at_100_per_cent_and_none_at_0(api, app):
    start_candidate(api, app, HOST, 100)
    for points, expected in ((0, False), (3000, False), (10_000, True)):
        body = {"rollout": {"basis_points": points}, "reason": "a test", "force": True}
        api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", body)
        told = decode_both(fetch(api, app).body)
        assert has_candidate(told, HOST) == expected, points
        for name in ("template", "server-template"):
            template = fetch(api, app, name).json
            assert decode_both(template["parameters"][PARAMETER]["defaultValue"]["value"]) == told
            assert len(template["conditions"]) == (1 if points == 3000 else 0)


# MARK: Templates


class Nobody(credentials.Base):
    """No network is asked, and so nobody is to be."""

    def get_credential(self):
        return google.auth.credentials.AnonymousCredentials()


@pytest.fixture(scope="module")
def firebase():
    app = firebase_admin.initialize_app(Nobody(), {"projectId": "pinledger-test"}, name="pinledger-test")
    yield app
    firebase_admin.delete_app(app)


class Template:
    """Our server template, evaluated by firebase-admin."""

    def __init__(self, firebase, answer, parameter: str = PARAMETER):
        self.parameter = parameter
        self.template = remote_config.init_server_template(app=firebase, template_data_json=answer.body.decode())

    def value(self, **context) -> Swift:
        config = self.template.evaluate(context)
        assert config.get_value_source(self.parameter) == "remote"
        return decode_both(config.get_string(self.parameter))


def percentile(seed: str, identifier: str) -> int:
    """Firebase's draw, by its documentation: in millionths of a per cent."""
    return int(hashlib.sha256(f"{seed}.{identifier}".encode()).hexdigest(), 16) % 100_000_000


def seed_of(salt: str) -> str:
    """The service takes up to 32 letters, digits, `_`, `-` and `.` for a seed; another salt is given by its digest."""
    return salt if re.fullmatch(r"[\w.-]{1,32}", salt, re.ASCII) else hashlib.sha256(salt.encode()).hexdigest()[:32]


def start_candidate(api, app: str, host: str, basis_points: int | None) -> str:
    """A candidate with pins of its own; its rollout's salt."""
    pins = [{"pin": pin_of(f"{host} new 1"), "role": "primary"}, {"pin": pin_of(f"{host} new 2"), "role": "backup"}]
    body = {"mode": "enforce", "copy_baseline": False, "pins": pins, "reason": "a test", "force": True}
    if basis_points is not None:
        body["rollout"] = {"basis_points": basis_points}
    api.must("POST", f"/v1/apps/{app}/hosts/{host}/candidate", body)
    (told,) = (one for one in api.payload(app)["hosts"] if one["host"] == host)
    return told["rollout"]["salt"] if basis_points is not None else ""


def has_candidate(told: Swift, host: str) -> bool:
    primary = told.hosts[host].pins.primary
    assert told.hosts[host].enabled and told.hosts[host].rolloutPercentage == 100
    return primary == pin_of(f"{host} new 1")


def test_firebase_draws_the_same_devices_as_the_documented_formula(api, app, firebase):
    add_host(api, app, OTHER, {"pin": pin_of("cdn 1")}, {"pin": pin_of("cdn 2")})
    shares = {HOST: 3700, OTHER: 1}
    seeds = {host: seed_of(start_candidate(api, app, host, points)) for host, points in shares.items()}
    template = Template(firebase, fetch(api, app, "server-template"))
    shares_seen = dict.fromkeys(shares, 0)
    for number in range(2000):
        identifier = f"install-{number}"
        told = template.value(randomization_id=identifier)
        for host, points in shares.items():
            inside = percentile(seeds[host], identifier) <= points * 10_000
            assert has_candidate(told, host) == inside, f"{identifier} at {host}"
            shares_seen[host] += inside
    assert 640 < shares_seen[HOST] < 840
    # Half of the devices, in a third of the range: widened, no device that was inside is outside.
    inside = {number for number in range(500) if has_candidate(template.value(randomization_id=f"install-{number}"), HOST)}
    api.must("PATCH", f"/v1/apps/{app}/hosts/{HOST}", {"rollout": {"basis_points": 5000}, "reason": "a test", "force": True})
    wider = Template(firebase, fetch(api, app, "server-template"))
    again = {number for number in range(500) if has_candidate(wider.value(randomization_id=f"install-{number}"), HOST)}
    assert inside < again
    # A device without an id is outside.
    assert not has_candidate(wider.value(), HOST)


VERSIONS = ["0.9", "1.9.9", "2", "2.0", "2.0.0", "2.0.1", "2.5", "2.5.0", "2.5.1", "3.0.0", "3.0.0.1", "3.1", "10.0"]  # address: a version of four numbers


@pytest.mark.parametrize(
    "gate", [{"minimum": "2.0"}, {"minimum": "2.0", "maximum": "3.0"}, {"maximum": "2.5"}, {"minimum": "2.0", "excluded": ["2.5"]},
             {"minimum": "2.0", "minimum_build": 310}],
)  # fmt: skip
def test_firebase_lets_in_the_versions_that_explain_lets_in(api, app, firebase, gate):
    """Nothing is drawn here, so that both give every device the same."""
    start_candidate(api, app, HOST, None)
    api.must("PATCH", f"/v1/apps/{app}", {"version_gate": gate, "reason": "a test", "force": True})
    template = Template(firebase, fetch(api, app, "server-template"))
    seen = set()
    for version, build in itertools.product(VERSIONS, (309, 310)):
        told = template.value(randomization_id="install-1", app_version=version, app_build=str(build))
        explained = api.must("POST", f"/v1/apps/{app}/explain", {"device": {"app_version": version, "build": build}}).json
        expected = explained["hosts"][0]["arm"] == "candidate"
        assert has_candidate(told, HOST) == expected, f"{version} ({build})"
        seen.add(expected)
    assert seen == {True, False}
    assert not has_candidate(template.value(randomization_id="install-1"), HOST)


def test_nothing_wins_over_a_kill_switch(api, app, firebase):
    start_candidate(api, app, HOST, 5000)
    declare(api, app, "remote_config", {"parameter": "pins_2"})
    with KillSwitch(api, app):
        template = Template(firebase, fetch(api, app, "server-template"), "pins_2")
        for number in range(50):
            told = template.value(randomization_id=f"install-{number}", app_version="9.0")
            assert not told.enabled and told.hosts == {}
        client = fetch(api, app, "template").json
        first = client["conditions"][0]
        assert re.fullmatch(r"dateTime < dateTime\('\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d'\)", first["expression"])
        assert not decode_both(client["parameters"]["pins_2"]["conditionalValues"][first["name"]]["value"]).enabled
    template = Template(firebase, fetch(api, app, "server-template"), "pins_2")
    assert template.value(randomization_id="install-1").enabled


def test_a_hosts_kill_switch_ends_by_itself_in_the_client_template(api, app, firebase):
    before = fetch(api, app).body
    with KillSwitch(api, app, HOST):
        template = fetch(api, app, "template").json
        (condition,) = template["conditions"]
        (end,) = re.fullmatch(r"dateTime < dateTime\('(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)'\)", condition["expression"]).groups()
        left = datetime.fromisoformat(f"{end}+00:00") - datetime.now(timezone.utc)
        assert timedelta(minutes=55) < left <= timedelta(hours=1)
        parameter = template["parameters"][PARAMETER]
        until = decode_both(parameter["conditionalValues"][condition["name"]]["value"])
        assert until.enabled and not until.hosts[HOST].enabled
        assert decode_both(parameter["defaultValue"]["value"]) == decode_both(before)
        # Server templates know no time, and say what holds now.
        told = Template(firebase, fetch(api, app, "server-template")).value(randomization_id="install-1")
        assert told == until == decode_both(fetch(api, app).body)
    told = Template(firebase, fetch(api, app, "server-template"))
    assert told.value(randomization_id="install-1") == decode_both(before)


# What the reference of conditional expressions lists, as far as templates of ours need it.
ELEMENT = re.compile(
    r"app\.version\.(<=|<|>=|>)\(\['\d+(\.\d+){0,3}'\]\)|app\.build\.>=\(\['\d+'\]\)|device\.country in \[('[A-Z]{2}'(, )?)+\]"
    r"|percent\('[\w.-]{1,32}'\) <= \d+(\.\d+)?|dateTime (<|>=) dateTime\('[\d:T-]{19}'\)|app\.id == '[\w:]+'"
)


def test_the_client_template_is_one_that_the_service_takes(api, app):
    salt = start_candidate(api, app, HOST, 3725)
    api.must("PATCH", f"/v1/apps/{app}", {"version_gate": {"minimum": "2.0"}, "reason": "a test", "force": True})
    answer = fetch(api, app, "template")
    template = answer.json
    assert set(template) == {"conditions", "parameters", "version"} and list(template["parameters"]) == [PARAMETER]
    names = [condition["name"] for condition in template["conditions"]]
    assert len(names) == len(set(names)) and all(1 <= len(name) <= 100 for name in names)
    for condition in template["conditions"]:
        assert set(condition) <= {"name", "expression", "tagColor"}
        for element in condition["expression"].split(" && "):
            assert ELEMENT.fullmatch(element), element
    elements = [element for condition in template["conditions"] for element in condition["expression"].split(" && ")]
    assert f"percent('{seed_of(salt)}') <= 37.25" in elements and "app.version.>=(['2.0'])" in elements
    parameter = template["parameters"][PARAMETER]
    assert set(parameter) <= {"defaultValue", "conditionalValues", "description", "valueType"} and parameter["valueType"] == "JSON"
    # Every value is text with JSON in it, by a condition that there is.
    assert [name for name in names if name in parameter["conditionalValues"]] == list(parameter["conditionalValues"])
    values = [parameter["defaultValue"], *parameter["conditionalValues"].values()]
    assert all(decode_both(value["value"]).enabled for value in values)
    assert decode_both(parameter["defaultValue"]["value"]) == decode_both(fetch(api, app).body)
    check_conditional(api, path(app, "template"), answer)
    check_conditional(api, path(app, "server-template"), fetch(api, app, "server-template"))


@pytest.mark.parametrize("name", ["", "template", "server-template"])
def test_an_app_without_such_clients_has_no_remote_configuration(api, name):
    app = unique("com.example.remote.none.")
    expect_problem(ask(api, path(app, name)), 404, "app_unknown")
    api.make_app(app, HOST)
    expect_problem(ask(api, path(app, name)), 404, "client_unknown")


def test_a_rendered_template_can_be_imported_again(api, app, identities):
    """The way back to what an app is served."""
    body = fetch(api, app).body
    other = unique("com.example.remote.back.")
    answer = api.post(f"/v1/import/remote-config?app={other}", body)
    assert answer.status == 201, str(answer)
    (host,) = api.payload(other)["hosts"]
    policy = host.get("candidate") or host["baseline"]
    pins = [f"{pin['alg']}/{pin['spki']}" for pin in policy["pins"]]
    assert host["host"] == HOST and set(pins) == {one.pin for one in identities[:3]}
