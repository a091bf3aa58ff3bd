"""Files to build into apps: read by the programs that they are for, or by programs that know those formats."""

import base64
import difflib
import hashlib
import json
import plistlib
import re
import shlex
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_public_key
from deployed import HOST, Identity, KillSwitch, add_host, declare, spki
from lxml import etree
from names import unique
from okhttp import OkHttp
from pinledger import BINARY, from_now, pin_of
from problems import expect_problem
from tls_server import TLSServer

APP = "com.example.exports"
WILD, DEEP, WIDE = "*.cdn.example.com", "example.org", "shop.example.net"
WATCHED, OFF = "watched.example.com", "off.example.org"
FORMATS = {
    "apple_ats": "application/xml", "android_nsc": "application/xml", "trustkit_ios": "application/xml",
    "trustkit_android": "application/xml", "okhttp": "text/plain", "okhttp_3": "text/plain",
    "react_native": "application/json", "flutter": "application/json", "curl": "text/plain", "hpkp": "text/plain",
    "swift": "text/plain", "kotlin": "text/plain", "netkit": "text/plain", "json": "application/json",
    "pem": "application/x-pem-file",
}  # fmt: skip
UNTIL = from_now(days=60)


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> dict[str, list[Identity]]:
    """By host name, a key for its primary pin, one for its backup, and a stranger's."""
    directory = tmp_path_factory.mktemp("exports")
    names = [HOST, "a.cdn.example.com", DEEP, f"a.{DEEP}"]
    return {name: [Identity(directory, f"{name}-{number}", name) for number in range(3)] for name in names}


def shown(*identities: Identity) -> list[dict]:
    return [{"material": one.certificate.read_text()} for one in identities]


@pytest.fixture(scope="module")
def app(server, keys) -> str:
    """Hosts of every kind that a format may have trouble with."""
    api = server.api
    api.must("POST", "/v1/apps", {"app": APP, "display_name": "The <shop> & \"co\" --> */"})
    add_host(api, APP, HOST, *shown(*keys[HOST][:2]))
    add_host(api, APP, WILD, *shown(*keys["a.cdn.example.com"][:2]))
    add_host(api, APP, DEEP, *shown(*keys[DEEP][:2]), include_subdomains=True)
    for host, mode in ((WIDE, "enforce"), (WATCHED, "report_only"), (OFF, "off")):
        pins = [{"pin": pin_of(f"{host} {number}")} for number in (1, 2)]
        add_host(api, APP, host, *pins, mode=mode, include_subdomains=host == WIDE)
    api.must("PATCH", f"/v1/apps/{APP}", {"pins_valid_until": UNTIL, "reason": "a test", "force": True})
    return APP


def export(api, app: str, format: str) -> bytes:
    answer = api.must("GET", f"/v1/apps/{app}/export/{format}")
    assert answer["Content-Type"].split(";")[0] == FORMATS[format], answer["Content-Type"]
    return answer.body


def base64s(identities) -> list[str]:
    return [one.base64 for one in identities[:2]]


# MARK: What all have in common


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_has_its_name_and_is_the_same_each_time(server, api, app, format, tmp_path):
    answer = api.must("GET", f"/v1/apps/{app}/export/{format}")
    name = re.fullmatch(r'attachment; ?filename="?([\w.-]+)"?', answer["Content-Disposition"])[1]
    told = api.must("GET", f"/v1/apps/{app}/export/{format}?notes=true").json
    assert set(told) == {"format", "file_name", "notes"} and (told["format"], told["file_name"]) == (format, name)
    assert all(note.endswith(".") for note in told["notes"])
    assert answer.body.endswith(b"\n") and answer.body.decode()
    # Whatever happens elsewhere.
    api.make_app(unique("com.example.exports.other"), HOST)
    monitoring = {"enabled": True, "failure_threshold_bp": 1 + list(FORMATS).index(format), "auto_disable": False}
    api.must("PATCH", f"/v1/apps/{app}", {"monitoring": monitoring})
    assert api.must("GET", f"/v1/apps/{app}/export/{format}").body == answer.body
    done = server.cli("export", format, app)
    assert done.stdout.encode() == answer.body
    assert all(note in done.stderr for note in told["notes"])
    file = tmp_path / name
    assert server.cli("export", format, app, "--output", str(file)).stdout == ""
    assert file.read_bytes() == answer.body


@pytest.mark.parametrize("format", ["apple_ats", "okhttp", "json"])
def test_a_pipeline_learns_whether_its_file_is_the_server_s(server, api, format, tmp_path):
    app = unique("com.example.exports.check.")
    api.make_app(app, HOST)
    file = tmp_path / "pins"
    server.cli("export", format, app, "--output", str(file))
    server.cli("export", format, app, "--check", str(file))
    before = file.read_text()
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", {"pin": pin_of("another"), "role": "backup"})
    told = server.cli("export", format, app, "--check", str(file), status=1)
    assert f"pinledger export {format} {app} --output {file}" in told.stderr
    after = export(api, app, format).decode()
    lines = [line[1:] for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert any(line.strip() and line.strip() in told.stdout + told.stderr for line in lines)
    assert file.read_text() == before, "it was to look, and to touch nothing"
    file.write_text(after)
    server.cli("export", format, app, "--check", str(file))
    # A checkout on Windows.
    file.write_bytes(after.replace("\n", "\r\n").encode())
    server.cli("export", format, app, "--check", str(file))
    # A property list is compared by its pins.
    for changed in ([] if format == "apple_ats" else [after + "\n", after[:-1]]) + [after[: len(after) // 2], ""]:
        file.write_bytes(changed.encode())
        server.cli("export", format, app, "--check", str(file), status=1)
    # No pipeline may take a mistake for a file that differs.
    assert "android_nsc" in server.cli("export", "nosuch", app, "--check", str(file), status=2).stderr
    server.cli("export", format, "not an app", "--check", str(file), status=10)
    server.cli("export", format, "com.example.nowhere", "--check", str(file), status=5)
    missing = subprocess.run(
        [BINARY, "export", format, app, "--check", str(tmp_path / "missing")], capture_output=True, text=True,
        env=server.environment | {"PINLEDGER_DATA": str(server.data)}, timeout=300,
    )  # fmt: skip
    assert missing.returncode == 5, "what is not there does not differ"


def test_an_export_may_be_merged_into_a_configuration_and_does_not_replace_it_in_silence(server, api, tmp_path):
    app = unique("com.example.exports.merged.")
    api.make_app(app, HOST)
    file = tmp_path / "network_security_config.xml"
    root = "<network-security-config>"
    file.write_bytes(export(api, app, "android_nsc").replace(root.encode(), f"{root}<base-config/>".encode()))
    assert "it has the pins of the export" in server.cli("export", "android_nsc", app, "--check", str(file)).stderr
    api.must("POST", f"/v1/apps/{app}/hosts/{HOST}/pins", {"pin": pin_of("another"), "role": "backup"})
    told = server.cli("export", "android_nsc", app, "--check", str(file), status=1).stderr
    assert f"other pins than the export for {HOST}" in told and "would replace" in told
    told = server.cli("export", "android_nsc", app, "--output", str(file)).stderr
    assert "gone now" in told and "base-config" in told
    assert "gone now" not in server.cli("export", "android_nsc", app, "--output", str(file)).stderr


def test_an_export_lists_what_it_cannot_express(server, api, app):
    for format in ("plist", "remote_config", "APPLE_ATS", "dynapins"):
        answer = api.get(f"/v1/apps/{app}/export/{format}")
        assert answer.status in (400, 404) and answer["Content-Type"] == "application/problem+json", str(answer)
    expect_problem(api.get("/v1/apps/com.example.nowhere/export/curl"), 404, "app_unknown")
    # TrustKit takes no file without a domain.
    empty = unique("com.example.exports.empty.")
    api.must("POST", "/v1/apps", {"app": empty})
    answer = api.get(f"/v1/apps/{empty}/export/trustkit_ios")
    assert 400 <= answer.status < 500 and answer["Content-Type"] == "application/problem+json", str(answer)
    assert plistlib.loads(export(api, empty, "apple_ats"))["NSAppTransportSecurity"]["NSPinnedDomains"] == {}


@pytest.mark.parametrize("format", FORMATS)
def test_a_kill_switch_is_mentioned_and_takes_nothing_out_of_a_file(server, api, app, format, tmp_path):
    before = export(api, app, format)
    notes = f"/v1/apps/{app}/export/{format}?notes=true"
    told = api.must("GET", notes).json["notes"]
    file = tmp_path / "pins"
    file.write_bytes(before)
    for host in (None, HOST):
        with KillSwitch(api, app, host):
            assert export(api, app, format) == before, "the app that it is built into outlasts the switch"
            more = [note for note in api.must("GET", notes).json["notes"] if note not in told]
            assert len(more) == 1 and more[0].startswith("A kill switch has turned off the pins of ") and HOST in more[0], more
            assert more[0] in server.cli("export", format, app, "--check", str(file)).stderr
    assert api.must("GET", notes).json["notes"] == told


def test_a_report_only_host_with_one_pin_does_not_stop_trustkit(api):
    app = unique("com.example.exports.single.")
    api.must("POST", "/v1/apps", {"app": app})
    add_host(api, app, HOST, {"pin": pin_of("alone")}, mode="report_only")
    domains = plistlib.loads(export(api, app, "trustkit_ios"))["TSKConfiguration"]["TSKPinnedDomains"]
    assert len(domains[HOST]["TSKPublicKeyHashes"]) == 1 and domains[HOST]["TSKEnforcePinning"] is False
    # What can only enforce leaves it out, and has nothing left.
    told = expect_problem(api.get(f"/v1/apps/{app}/export/react_native"), 409, "nothing_to_export")
    assert f"{HOST}: left out. Its mode is report_only" in told["detail"]


# MARK: Apple


def test_app_transport_security_reads_its_domains(api, app, keys):
    domains = plistlib.loads(export(api, app, "apple_ats"))["NSAppTransportSecurity"]["NSPinnedDomains"]
    assert HOST in domains and WATCHED not in domains and OFF not in domains
    for name, domain in domains.items():
        # Lower case, no wildcard; and one array at least.
        assert re.fullmatch(r"[a-z0-9.-]+", name)
        assert set(domain) <= {"NSIncludesSubdomains", "NSPinnedLeafIdentities", "NSPinnedCAIdentities"}
        assert type(domain["NSIncludesSubdomains"]) is bool
        for identity in domain["NSPinnedLeafIdentities"]:
            assert list(identity) == ["SPKI-SHA256-BASE64"]
            assert len(base64.b64decode(identity["SPKI-SHA256-BASE64"], validate=True)) == 32
    assert [one["SPKI-SHA256-BASE64"] for one in domains[HOST]["NSPinnedLeafIdentities"]] == base64s(keys[HOST])
    assert domains[HOST]["NSIncludesSubdomains"] is False


def authority(host: str) -> tuple[str, str]:
    """The certificate of an authority's key as text, and its pin in base64."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Authority of {host}")])
    start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=1000))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, SHA256())
    )
    return (
        certificate.public_bytes(Encoding.PEM).decode(),
        base64.b64encode(hashlib.sha256(spki(private.public_key())).digest()).decode(),
    )


@pytest.mark.parametrize("is_first", [True, False])
def test_authorities_or_servers_keys_are_kept_by_the_primary_s_kind(api, keys, is_first):
    """With both lists App Transport Security asks for a match in each, and with the wrong one no client connects."""
    app = unique("com.example.exports.authority.")
    api.must("POST", "/v1/apps", {"app": app})
    material, pin = authority(HOST)
    pins = [{"material": material}, *shown(keys[HOST][0])]
    add_host(api, app, HOST, *(pins if is_first else reversed(pins)))
    domain = plistlib.loads(export(api, app, "apple_ats"))["NSAppTransportSecurity"]["NSPinnedDomains"][HOST]
    kept, gone = ("NSPinnedCAIdentities", "NSPinnedLeafIdentities")[:: 1 if is_first else -1]
    assert gone not in domain
    own = keys[HOST][0].base64
    assert [one["SPKI-SHA256-BASE64"] for one in domain[kept]] == [pin if is_first else own]
    notes = api.must("GET", f"/v1/apps/{app}/export/apple_ats?notes=true").json["notes"]
    assert any((own if is_first else pin) in note and "asks for one of each" in note for note in notes), notes
    # curl and Flutter compare the server's own key or certificate: an authority's would match nothing.
    curl = export(api, app, "curl").decode()
    flutter = json.loads(export(api, app, "flutter"))
    assert pin not in curl
    assert (own in curl) == (not is_first) and (HOST in flutter) == (not is_first), "with the backup alone nobody connects"


def test_trustkit_for_ios_reads_its_configuration(api, app, keys):
    configuration = plistlib.loads(export(api, app, "trustkit_ios"))["TSKConfiguration"]
    assert configuration["TSKSwizzleNetworkDelegates"] is False
    domains = configuration["TSKPinnedDomains"]
    assert domains[HOST] == {
        "TSKPublicKeyHashes": base64s(keys[HOST]), "TSKEnforcePinning": True, "TSKIncludeSubdomains": False,
        "TSKExpirationDate": UNTIL[:10], "TSKDisableDefaultReportUri": True,
    }  # fmt: skip
    assert domains[DEEP]["TSKIncludeSubdomains"] is True and domains[WATCHED]["TSKEnforcePinning"] is False
    # Below a domain whose pins hold for all names.
    assert domains[OFF] == {"kSKExcludeSubdomainFromParentPolicy": True}
    for domain in domains.values():
        if "TSKPublicKeyHashes" in domain:
            assert len(set(domain["TSKPublicKeyHashes"])) >= 2, "TrustKit throws"
            datetime.strptime(domain["TSKExpirationDate"], "%Y-%m-%d")


# MARK: Android

# The elements of a network security configuration as developer.android.com lists them, and TrustKit's besides.
SCHEMA = etree.XMLSchema(etree.fromstring("""
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="network-security-config">
    <xs:complexType><xs:choice minOccurs="0" maxOccurs="unbounded">
      <xs:element name="base-config" type="config"/>
      <xs:element name="domain-config" type="domainConfig"/>
      <xs:element name="debug-overrides" type="config"/>
    </xs:choice></xs:complexType>
  </xs:element>
  <xs:complexType name="config">
    <xs:sequence><xs:element name="trust-anchors" minOccurs="0"><xs:complexType><xs:sequence>
      <xs:element name="certificates" maxOccurs="unbounded"><xs:complexType>
        <xs:attribute name="src" use="required"/><xs:attribute name="overridePins" type="xs:boolean"/>
      </xs:complexType></xs:element>
    </xs:sequence></xs:complexType></xs:element></xs:sequence>
    <xs:attribute name="cleartextTrafficPermitted" type="xs:boolean"/>
  </xs:complexType>
  <xs:complexType name="domainConfig">
    <xs:sequence>
      <xs:element name="domain" maxOccurs="unbounded"><xs:complexType><xs:simpleContent>
        <xs:extension base="name"><xs:attribute name="includeSubdomains" type="xs:boolean"/></xs:extension>
      </xs:simpleContent></xs:complexType></xs:element>
      <xs:element name="pin-set" minOccurs="0"><xs:complexType>
        <xs:sequence><xs:element name="pin" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:simpleContent>
          <xs:extension base="digest"><xs:attribute name="digest" use="required"><xs:simpleType>
            <xs:restriction base="xs:string"><xs:enumeration value="SHA-256"/></xs:restriction>
          </xs:simpleType></xs:attribute></xs:extension>
        </xs:simpleContent></xs:complexType></xs:element></xs:sequence>
        <xs:attribute name="expiration" type="day"/>
      </xs:complexType></xs:element>
      <xs:element name="trustkit-config" minOccurs="0"><xs:complexType>
        <xs:sequence><xs:element name="report-uri" type="xs:anyURI" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
        <xs:attribute name="enforcePinning" type="xs:boolean"/>
        <xs:attribute name="disableDefaultReportUri" type="xs:boolean"/>
      </xs:complexType></xs:element>
    </xs:sequence>
    <xs:attribute name="cleartextTrafficPermitted" type="xs:boolean"/>
  </xs:complexType>
  <xs:simpleType name="name"><xs:restriction base="xs:string">
    <xs:pattern value="[a-z0-9]([a-z0-9\\-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9\\-]*[a-z0-9])?)+"/>
  </xs:restriction></xs:simpleType>
  <xs:simpleType name="digest"><xs:restriction base="xs:string">
    <xs:pattern value="[A-Za-z0-9+/]{43}="/>
  </xs:restriction></xs:simpleType>
  <xs:simpleType name="day"><xs:restriction base="xs:date">
    <xs:pattern value="[0-9]{4}-[0-9]{2}-[0-9]{2}"/>
  </xs:restriction></xs:simpleType>
</xs:schema>
"""))


def android(api, app: str, format: str) -> dict[str, etree._Element]:
    """By name, the parts of a configuration that the schema accepts."""
    tree = etree.fromstring(export(api, app, format))
    SCHEMA.assertValid(tree)
    found = {}
    for part in tree.iterfind("domain-config"):
        # TrustKit keeps the last of several only.
        (domain,) = part.iterfind("domain")
        assert domain.text not in found
        found[domain.text] = part
    return found


def test_the_schema_in_these_tests_refuses_what_android_refuses():
    good = (
        '<network-security-config><domain-config><domain includeSubdomains="true">a.example</domain>'
        '<pin-set expiration="2026-01-31"><pin digest="SHA-256">{}</pin></pin-set></domain-config></network-security-config>'
    )
    pin = "A" * 43 + "="
    assert SCHEMA.validate(etree.fromstring(good.format(pin)))
    for text in (
        good.format(pin[1:]), good.format(pin).replace("SHA-256", "SHA-1"), good.format(pin).replace("2026-01-31", "31.1.2026"),
        good.format(pin).replace("a.example", "*.a.example"), good.format(pin).replace("domain ", "host ").replace("/domain>", "/host>"),
    ):  # fmt: skip
        assert not SCHEMA.validate(etree.fromstring(text))


def test_android_s_configuration_follows_its_schema(api, app, keys):
    found = android(api, app, "android_nsc")
    assert WATCHED not in found, "Android would enforce"
    part = found[HOST]
    assert part.find("domain").get("includeSubdomains") == "false"
    assert part.find("pin-set").get("expiration") == UNTIL[:10]
    assert [pin.text for pin in part.iterfind("pin-set/pin")] == base64s(keys[HOST])
    assert found[DEEP].find("domain").get("includeSubdomains") == "true"
    # Android uses the longest domain: one without pins is excepted.
    assert found[OFF].find("pin-set") is None
    assert all(part.find("trustkit-config") is None for part in found.values())


@pytest.mark.parametrize("format", ["android_nsc", "trustkit_android"])
def test_a_wildcard_that_is_off_excludes_only_its_own_names(api, format):
    app = unique("com.example.exports.below.")
    api.must("POST", "/v1/apps", {"app": app})
    pair = [{"pin": pin_of(f"below {number}")} for number in (1, 2)]
    add_host(api, app, "example.org", *pair, include_subdomains=True)
    add_host(api, app, "*.cdn.example.org", *pair, mode="off")
    found = android(api, app, format)
    assert {name: part.find("domain").get("includeSubdomains") for name, part in found.items()} == {
        "example.org": "true", "cdn.example.org": "true",
    }  # fmt: skip
    assert len(list(found["example.org"].iterfind("pin-set/pin"))) == 2
    assert list(found["cdn.example.org"].iterfind("pin-set/pin")) == []
    notes = api.must("GET", f"/v1/apps/{app}/export/{format}?notes=true").json["notes"]
    assert any(note.startswith("cdn.example.org and names two or more labels below cdn.example.org: left out.") for note in notes)


def test_trustkit_for_android_s_configuration_follows_its_schema(api, app, keys):
    found = android(api, app, "trustkit_android")
    for name, enforces in {HOST: "true", DEEP: "true", WATCHED: "false"}.items():
        assert dict(found[name].find("trustkit-config").attrib) == {"enforcePinning": enforces, "disableDefaultReportUri": "true"}
        assert len(list(found[name].iterfind("pin-set/pin"))) == 2
    assert [pin.text for pin in found[HOST].iterfind("pin-set/pin")] == base64s(keys[HOST])
    assert list(found[OFF].iterfind("pin-set/pin")) == [] and found[OFF].find("trustkit-config").get("enforcePinning") == "false"


# MARK: Programs that connect


@pytest.fixture(scope="module")
def tls(keys):
    """A server that presents any given key."""
    server = TLSServer(keys[HOST][0])
    yield server
    server.close()


def curl_commands(text: str) -> dict[str, list[str]]:
    """By URL, what is to be run."""
    lines = [shlex.split(line) for line in text.splitlines() if line and not line.startswith("#")]
    return {words[-1]: words[:-1] for words in lines}


def test_curl_takes_the_right_key_and_refuses_another(api, app, keys, tls):
    commands = curl_commands(export(api, app, "curl").decode())
    assert set(commands) == {f"https://{host}/" for host in (HOST, DEEP, WIDE)}
    for host in (HOST, DEEP):
        command = commands[f"https://{host}/"]
        assert command[:2] == ["curl", "--pinnedpubkey"] and len(command) == 3
        for number, identity in enumerate(keys[host]):
            tls.serve(identity)
            status = subprocess.run(
                [*command, "-sk", "--max-time", "10", "--resolve", f"{host}:{tls.port}:127.0.0.1", f"https://{host}:{tls.port}/"],
                capture_output=True,
            ).returncode  # fmt: skip
            assert status == (0 if number < 2 else 90), f"key {number} of {host}"


@pytest.fixture(scope="module")
def okhttp(tmp_path_factory) -> OkHttp:
    return OkHttp(tmp_path_factory.mktemp("okhttp"))


def kotlin_pins(text: str) -> list[tuple[str, str]]:
    """The patterns and pins of a `CertificatePinner.Builder` in Kotlin."""
    calls = re.findall(r'\.add\(\s*"([^"\\$]+)",((?:\s*"sha256/[A-Za-z0-9+/]{43}=",?\s*//[^\n]*)+)\s*\)', text)
    assert len(calls) == text.count(".add("), text
    return [(pattern, pin) for pattern, pins in calls for pin in re.findall(r'"(sha256/[^"]+)"', pins)]


def test_okhttp_takes_the_right_key_and_refuses_another(api, app, keys, tls, okhttp, tmp_path):
    pins = kotlin_pins(export(api, app, "okhttp_3").decode())
    assert not any(pattern.startswith("**") for pattern, _ in pins), "OkHttp 3 takes these and never matches them"
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(b"".join(one.certificate.read_bytes() for identities in keys.values() for one in identities))

    def connects(identity: Identity, host: str, pins=pins) -> bool:
        tls.serve(identity)
        return okhttp.connects(host, tls.port, trusted, pins)

    assert connects(keys[HOST][0], HOST) and connects(keys[HOST][1], HOST)
    assert not connects(keys[HOST][2], HOST)
    # The certificate would do by itself: it is the pins that refuse it.
    assert connects(keys[HOST][2], HOST, [])
    assert connects(keys["a.cdn.example.com"][0], "a.cdn.example.com")
    assert not connects(keys["a.cdn.example.com"][2], "a.cdn.example.com")
    assert not connects(keys[DEEP][2], DEEP)
    # No pattern excepts a host from a wider one's pins: what is below that one is left to the certificates.
    assert connects(keys[f"a.{DEEP}"][2], f"a.{DEEP}")
    modern = kotlin_pins(export(api, app, "okhttp").decode())
    assert {HOST, WILD, WIDE, f"**.{WIDE}"} <= {pattern for pattern, _ in modern}
    assert {pin for pattern, pin in modern if pattern == HOST} == {one.pin for one in keys[HOST][:2]}


# MARK: The others


def test_json_is_what_its_readers_expect(api, app, keys):
    native = json.loads(export(api, app, "react_native"))
    assert native[HOST] == {"includeSubdomains": False, "publicKeyHashes": base64s(keys[HOST]), "expirationDate": UNTIL[:10]}
    for name, host in native.items():
        assert re.fullmatch(r"[a-z0-9.-]+", name) and len(host["publicKeyHashes"]) >= 2
    flutter = json.loads(export(api, app, "flutter"))
    assert flutter[HOST] == [one.fingerprint.hex() for one in keys[HOST][:2]]
    plain = json.loads(export(api, app, "json"))
    hosts = {host["host"]: host for host in plain["hosts"]}
    assert [pin["pin"] for pin in hosts[HOST]["pins"]] == [one.pin for one in keys[HOST][:2]]
    assert hosts[WATCHED]["mode"] == "report_only" and plain["app"] == app
    assert datetime.fromisoformat(plain["pins_valid_until"]) == datetime.fromisoformat(UNTIL)


def test_headers_are_those_of_rfc_7469(api, app, keys):
    blocks = [block.splitlines() for block in export(api, app, "hpkp").decode().split("\n\n")]
    headers = {block[0].removeprefix("Host: "): block[1] for block in blocks if block[0].startswith("Host: ")}
    name, _, value = headers[HOST].partition(": ")
    assert name == "Public-Key-Pins"
    assert re.findall(r'pin-sha256="([^"]+)"', value) == base64s(keys[HOST]) and "includeSubDomains" not in value
    # Below one of them is a host that is not pinned, which no header can except.
    assert headers[WIDE].endswith("; includeSubDomains") and "includeSubDomains" not in headers[DEEP]
    assert headers[WATCHED].startswith("Public-Key-Pins-Report-Only: ")


def pem_blocks(text: bytes) -> tuple[list[bytes], list[bytes]]:
    """The keys (SubjectPublicKeyInfo) and the fingerprints of the certificates in PEM."""
    keys = re.findall(rb"-----BEGIN PUBLIC KEY-----\n.*?-----END PUBLIC KEY-----\n", text, re.S)
    certificates = x509.load_pem_x509_certificates(text) if b"BEGIN CERTIFICATE" in text else []
    return [spki(load_pem_public_key(key)) for key in keys], [one.fingerprint(SHA256()) for one in certificates]


def test_pem_has_the_keys_and_certificates_themselves(server, api, app, keys):
    text = export(api, app, "pem")
    found, certificates = pem_blocks(text)
    shown = [one for name in (HOST, "a.cdn.example.com", DEEP) for one in keys[name][:2]]
    assert sorted(found) == sorted(spki(one.public) for one in shown)
    assert sorted(certificates) == sorted(one.fingerprint for one in shown)
    # Each behind a line that says where it is pinned, and its key before its certificate.
    for host, role, one in ((HOST, "primary", keys[HOST][0]), (DEEP, "backup", keys[DEEP][1])):
        (block,) = (part for part in text.split(b"\n\n") if one.pin.encode() in part)
        assert block.decode().startswith(f"# {one.pin}: {host} ({role})\n-----BEGIN PUBLIC KEY-----\n")
        assert pem_blocks(block + b"\n") == ([spki(one.public)], [one.fingerprint])
    notes = api.must("GET", f"/v1/apps/{app}/export/pem?notes=true").json["notes"]
    for number in (1, 2):
        assert f"{pin_of(f'{WIDE} {number}')}: left out. Nobody showed more than the pin." in notes
    assert notes[-1] == f"Store the missing material with: pinledger pin describe {app} FILE."


def test_a_pem_export_asks_for_keys_that_were_never_shown(server, api, tmp_path):
    app = unique("com.example.exports.bare.")
    # What was shown of a key for any app is known of it.
    first, second = (Identity(tmp_path, f"unseen-{number}", HOST) for number in range(2))
    api.must("POST", "/v1/apps", {"app": app})
    add_host(api, app, HOST, {"pin": first.pin}, {"pin": second.pin})

    def check_refusal() -> None:
        detail = expect_problem(api.get(f"/v1/apps/{app}/export/pem"), 409, "nothing_to_export")["detail"]
        assert f"{first.pin}: left out." in detail and f"{second.pin}: left out." in detail
        assert f"pinledger pin describe {app} FILE" in detail

    check_refusal()
    # What is only tried is not kept.
    api.must("POST", f"/v1/apps/{app}/key-facts?dry_run=true", {"material": first.certificate.read_text()})
    server.cli("pin", "describe", app, str(first.certificate), "--dry-run")
    check_refusal()
    server.cli("pin", "describe", app, str(first.certificate))
    assert pem_blocks(export(api, app, "pem")) == ([spki(first.public)], [first.fingerprint])
    # Binary does as well; and of a key that is known, once more.
    file = tmp_path / "second.der"
    file.write_bytes(spki(second.public))
    server.cli("pin", "describe", app, str(file))
    server.cli("pin", "describe", app, str(file))
    found, certificates = pem_blocks(export(api, app, "pem"))
    assert (found, certificates) == ([spki(first.public), spki(second.public)], [first.fingerprint])
    told = api.must("GET", f"/v1/apps/{app}/export/pem?notes=true").json
    assert told["file_name"] == "pins.pem" and told["notes"] == []
    committed = tmp_path / "pins.pem"
    server.cli("export", "pem", app, "--output", str(committed))
    server.cli("export", "pem", app, "--check", str(committed))


def test_netkit_is_given_the_keys_that_its_first_versions_compare(api, app, keys):
    text = export(api, app, "netkit").decode()
    old, new = re.fullmatch(r".*#if NETKIT_KEY_DATA\n(.*)#else\n(.*)#endif\n", text, re.S).groups()
    listed = dict(re.findall(r'^    "([^"]+)": \[\n((?:        .*\n)+)    \],$', old, re.M))
    # An entry is one name; the keys of the host with pins alone are unknown.
    assert set(listed) == {HOST, DEEP}
    for host, lines in listed.items():
        raw = re.findall(r'Data\(base64Encoded: "([^"]+)"\)!', lines)
        assert [base64.b64decode(item, validate=True) for item in raw] == [one.raw for one in keys[host][:2]]
    assert set(re.findall(r'^    "([^"]+)": \[$', new, re.M)) == {HOST, DEEP, WIDE}
    assert f'PinnedKey.spkiSHA256("{keys[HOST][0].base64}"),  // primary' in new
    notes = api.must("GET", f"/v1/apps/{app}/export/netkit?notes=true").json["notes"]
    assert any(note.startswith(f"{WIDE}: left out for versions of NetKit without PinnedKey.") for note in notes)


def test_the_swift_and_kotlin_exports_hold_the_pins_and_the_swift_one_compiles(api, app, keys, tmp_path):
    swift, kotlin = export(api, app, "swift").decode(), export(api, app, "kotlin").decode()
    for text in (swift, kotlin):
        for identity in keys[HOST][:2]:
            assert f'"{identity.base64}"' in text
        # What an app is called stays in a comment of one line.
        assert text.startswith("//") and text.count("co\"") == 1
    file = tmp_path / "PinledgerPins.swift"
    file.write_text(swift)
    done = subprocess.run(["swiftc", "-typecheck", "-warnings-as-errors", str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["apple_ats", "okhttp_3", "curl"])
def test_an_export_asks_for_no_declaration_and_takes_one(api, app, kind):
    before = export(api, app, kind)
    declare(api, app, kind)
    assert export(api, app, kind) == before
