"""The kit's client in Java with OkHttp, against a real server: what an Android team would start from."""

import subprocess
from pathlib import Path

import pytest
from client_apps import Authority, Issued
from okhttp import LIBRARIES
from pinledger import eventually
from tls_server import TLSServer

JAVA = Path(__file__).parents[1] / "Conformance/java"
APP, HOST = "com.example.okhttp", "api.example.com"


@pytest.fixture(scope="module")
def classpath(tmp_path_factory) -> str:
    classes = tmp_path_factory.mktemp("classes")
    sources = [str(path) for directory in ("src", "test") for path in (JAVA / directory).rglob("*.java")]
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-cp", LIBRARIES, "-d", str(classes), *sources], check=True, timeout=300)
    return f"{classes}:{LIBRARIES}"


def java(classpath: str, name: str, *arguments: str, status: int = 0, hosts: Path | None = None) -> str:
    names = [f"-Djdk.net.hosts.file={hosts}"] if hosts else []
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", *names, "-cp", classpath, f"com.pinledger.client.{name}", *arguments],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_okhttp_is_pinned_by_the_document_of_the_moment_whatever_a_server_presents(classpath):
    assert java(classpath, "OkHttpSelfTest", str(JAVA / "test")).endswith("all right\n")


def test_an_app_with_okhttp_gets_what_its_operators_say(brief_server, classpath, tmp_path):
    authority = Authority(tmp_path, "authority")
    good, spare, new = (Issued(tmp_path, name, authority, HOST) for name in ("good", "spare", "new"))
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 {HOST}\n")
    keys = tmp_path / "keys.json"
    keys.write_bytes(brief_server.api.get("/client/v1/jwks.json").body)
    brief_server.cli("app", "create", APP)
    brief_server.cli("host", "add", APP, HOST, "--primary", str(good.certificate), "--backup", str(spare.request))
    server = TLSServer(good)
    try:
        address = f"http://127.0.0.1:{brief_server.port}/client/v1/apps/{APP}/document"

        def connect(status: int, install: str = "install-0") -> str:
            return java(
                classpath, "OkHttpExample", address, str(keys), APP, "pinledger", install, f"https://{HOST}:{server.port}/hello",
                str(authority.certificate), status=status, hosts=hosts,
            )  # fmt: skip

        eventually(lambda: brief_server.api.document(APP).status == 200, "the document")
        assert "verdict: matched (candidate_none)" in connect(0)
        server.serve(Issued(tmp_path, "swapped", authority, HOST))
        assert "verdict: refused" in connect(3)
        brief_server.cli("kill", "engage", APP, HOST, "--for", "1h", "--reason", "an incident")
        assert "verdict: unpinned (kill_switch_engaged)" in connect(0)
        brief_server.cli("kill", "release", APP, HOST, "--reason", "it is over")
        server.serve(good)
        # A rollout to half of the installs of pins that the server does not serve yet.
        spec = brief_server.api.get(f"/v1/apps/{APP}/spec").json
        spec["hosts"][0] |= {
            "candidate": {"mode": "report_only", "pins": [{"material": new.request.read_text(), "role": "primary"},
                                                          {"material": spare.request.read_text(), "role": "backup"}]},
            "rollout": {"basis_points": 5000, "seed": ["install_id"]},
        }  # fmt: skip
        brief_server.api.must("PUT", f"/v1/apps/{APP}/spec", spec | {"reason": "a ramp", "force": True})
        said = set()
        for number in range(6):
            told = brief_server.api.must("POST", f"/v1/apps/{APP}/explain", {"hosts": [HOST], "device": {"install_id": f"install-{number}"}}).json
            arm = told["hosts"][0]["arm"]
            said.add(arm)
            verdict = "matched (rollout_out)" if arm == "baseline" else "mismatched (rollout_in)"
            assert f"verdict: {verdict}" in connect(0, f"install-{number}")
        assert said == {"baseline", "candidate"}
        other = tmp_path / "other.json"
        other.write_text('{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", '
                         '"kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}]}')  # fmt: skip
        keys = other
        assert "document refused: unknown_key" in connect(1)
    finally:
        server.close()
