"""The handbook's example in Kotlin, compiled and run beside the one in Python where a compiler and org.json are there:
Debian's `kotlin`, `default-jdk-headless` and `libandroid-json-org-java`."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from client_guide import PAGE, ROOT
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pinledger import canonical

LIBRARY = Path("/usr/share/java/json-latest.jar")
# One case a line; the answer is the accepted version, or the refusal.
MAIN = """
fun main() {
    for (line in generateSequence(::readLine)) {
        val case = JSONObject(line)
        val keys = case.getJSONObject("keys").let { keys ->
            keys.keys().asSequence().map { it.toString() }.associateWith { keys.getString(it) }
        }
        println(try {
            accept(case.getString("token"), keys, case.getString("app"), case.getString("issuer"),
                case.optJSONObject("held"), case.getLong("now")).getLong("version").toString()
        } catch (refused: Refused) {
            refused.message
        })
    }
}
"""

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists() or not shutil.which("kotlinc") or not shutil.which("java"),
    reason="needs kotlinc, java and org.json (Debian: kotlin default-jdk-headless libandroid-json-org-java)",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> list[str]:
    """The command that runs the page's example."""
    directory = tmp_path_factory.mktemp("kotlin")
    (code,) = re.findall(r"```kotlin\n(.*?)```", PAGE, re.DOTALL)
    (directory / "Example.kt").write_text(code + MAIN)
    jar = directory / "example.jar"
    subprocess.run(
        ["kotlinc", "Example.kt", "-classpath", LIBRARY, "-include-runtime", "-d", jar], cwd=directory, check=True, timeout=600)
    return ["java", "-classpath", f"{jar}:{LIBRARY}", "ExampleKt"]


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_the_example_in_kotlin_accepts_and_refuses_as_the_one_in_python_does(guide, program):  # noqa: F811
    key = Ed25519PrivateKey.generate()
    x = encoded(key.public_key().public_bytes_raw())
    golden = json.loads((ROOT / "Tests/PinWireTests/Golden/document-full.json").read_text())

    def token(payload: bytes, head: bytes = b'{"alg":"EdDSA","kid":"a","typ":"pinset+jws"}') -> str:
        signed = f"{encoded(head)}.{encoded(payload)}"
        return f"{signed}.{encoded(key.sign(signed.encode()))}"

    good = token(canonical(golden))
    one = {"keys": {"a": x}, "app": golden["aud"], "issuer": golden["iss"], "now": golden["iat"]}
    cases = [one | {"token": good} | more for more in (
        {}, {"held": golden}, {"held": golden | {"version": golden["version"] - 1}}, {"now": golden["iat"] - 300},
        {"held": golden | {"version": golden["version"] + 1}}, {"held": golden | {"content_sha256": "0" * 64}},
        {"held": golden | {"iat": golden["iat"] + 1}},
        {"held": golden | {"version": golden["version"] - 1, "iat": golden["iat"] + 1}}, {"now": golden["iat"] - 301}, {"app": "com.example.other"},
        {"issuer": "another"}, {"keys": {}}, {"keys": {"b": x}}, {"token": good + "="}, {"token": good.replace(".", "", 1)},
        {"token": good + "A" * 2_097_152}, {"token": token(canonical(golden), b'{"alg":"none","kid":"a","typ":"pinset+jws"}')},
        {"token": good[:-8] + "AAAAAAAA"},
    )]  # fmt: skip
    cases += [one | {"token": token(payload)} for payload in (
        json.dumps(golden).encode(), canonical(golden).replace(b'"version":', b'"version":1,"version":'),
        canonical(golden | {"surprise": 1}), canonical(golden | {"bucketing": "pinroll/v2"}),
        canonical({name: value for name, value in golden.items() if name != "kill_switches"}),
        canonical(golden | {"kill_switches": []}), canonical(golden | {"content_sha256": "0" * 64}),
    )]  # fmt: skip
    written = "".join(json.dumps(case) + "\n" for case in cases)
    ran = subprocess.run(program, input=written, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr

    expected = []
    for case in cases:
        keys = {"keys": [{"kid": kid, "x": value} for kid, value in case["keys"].items()]}
        try:
            payload = guide["accept"](
                case["token"].encode(), keys, case["app"], case["issuer"], case.get("held"), case["now"])
            expected.append(str(payload["version"]))
        except guide["Refused"] as refused:
            expected.append(re.match(r"rule \d+", str(refused))[0])
    answers = [re.match(r"rule \d+|\d+$", line)[0] for line in ran.stdout.splitlines()]
    assert answers == expected and len(set(expected)) == 10
