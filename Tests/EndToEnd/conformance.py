"""Runs Schemathesis against a server that has something to show; started by the script `schemathesis`.

With --as ROLE, the token has this role alone, on the apps com.example.*; with --as nobody, there is none. Most requests are refused then, and
what is looked for are errors of the server, and answers that the contract does not have."""

import base64
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pinledger import EVERYTHING, Server, from_now, host_body, pin_of

HERE = Path(__file__).parent
CONTRACT = HERE.parents[1] / "openapi/openapi.yaml"
# Names of the contract's own examples, so that these meet what is there.
APP, HOST, PIN = "com.example.shop", "api.example.com", "19e7f18ad15c2644bc2fee19adc4b4787389d2152bb0a5c3fa8f6d92fc409212"

# A fixed seed: CI must not fail today on what it let through yesterday.
FIXED = ["--seed", "20260131", "--generation-deterministic", "--no-shrink"]
EVERY_PHASE = ["--phases", "examples,coverage,fuzzing,stateful"]
FORMS = {
    "short": ["--phases", "fuzzing,stateful", "--max-examples", "2", *FIXED],
    "full": [*EVERY_PHASE, "--max-examples", "4", *FIXED],
    # Looks for something new.
    "long": [*EVERY_PHASE, "--max-examples", "100", "--max-time", "300"],
}


# What a caller that is mostly refused can still find wrong.
REFUSED_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance"
)


def prepare(server: Server, role: str | None) -> None:
    """An app in the middle of a rollout, one under a kill switch, and a token for the run."""
    api = server.api
    pin = "sha256/" + base64.b64encode(bytes.fromhex(PIN)).decode()
    host = host_body(HOST)
    host["baseline"]["pins"].append({"pin": pin, "role": "backup", "state": "staged"})
    api.must("POST", "/v1/apps", {"app": APP})
    api.must("POST", f"/v1/apps/{APP}/hosts", host)
    api.must("POST", f"/v1/apps/{APP}/hosts", host_body("*.example.com"))
    candidate = {"mode": "enforce", "pins": [{"pin": pin_of("candidate"), "role": "backup"}]}
    api.must("POST", f"/v1/apps/{APP}/hosts/{HOST}/candidate", candidate | {"rollout": {"basis_points": 500}})
    api.make_app("com.example.other", "login.example.com")
    # For the administrative interface of Wultra's server.
    text = {"message_key": "update", "language": "en", "text": "There is a new version."}
    rule = {"id": 7, "platform": "IOS", "required_version": "2.0.0", "message_key": "update"}
    api.must("PUT", f"/v1/apps/{APP}/clients/wultra", {"settings": {"version_rules": [rule], "texts": [text]}})
    reason = {"reason": "preparation", "expires_at": from_now(days=1)}
    api.must("PUT", "/v1/apps/com.example.other/kill-switch", reason)
    api.must("POST", "/v1/keys", {})
    api.must("POST", "/v1/webhooks", {"url": "https://hooks.invalid/pins"})
    grants = [{"role": role, "apps": ["com.example.*"]}] if role and role != "nobody" else EVERYTHING
    made = api.must("POST", "/v1/tokens", {"grants": grants, "name": "schemathesis"}).json
    # The hooks keep the run from revoking its own token and ours.
    mine = api.get("/v1/whoami").json["token"]["token_id"]
    os.environ["PINLEDGER_TEST_TOKEN_IDS"] = f"{mine} {made['token_id']}"
    os.environ["PINLEDGER_TEST_TOKEN"] = made["token"]


def configuration(directory: Path, role: str | None) -> Path:
    """The configuration for a role: nobody has no token."""
    file = HERE / "schemathesis.toml"
    if role != "nobody":
        return file
    text = file.read_text()
    (plain := directory / "schemathesis.toml").write_text(text.replace('[auth.openapi.bearerAuth]\nbearer = "${PINLEDGER_TEST_TOKEN}"\n', ""))
    assert plain.read_text() != text
    return plain


def main() -> int:
    form, *more = sys.argv[1:]
    role = None
    if more[:1] == ["--as"]:
        role, more = more[1], more[2:]
    # All of it comes from one network.
    server = Server(more=["--telemetry-rate", "0"]).start()
    try:
        prepare(server, role)
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            # In an empty directory: what it writes beside itself goes away with it.
            code = subprocess.run(
                [
                    str(Path(sys.executable).parent / "st"), "--config-file", str(configuration(Path(directory), role)), "run", str(CONTRACT),
                    "--url", f"http://127.0.0.1:{server.port}",
                    "--checks", REFUSED_CHECKS if role else "all",
                    # A stream that never ends is no request with an answer; test_events.py has it.
                    "--exclude-operation-id", "streamEvents", "--exclude-operation-id", "streamDocument",
                    "--exclude-operation-id", "streamDocuments",
                    "--request-timeout", "120",
                    "--continue-on-failure",
                    *FORMS[form], *more,
                ],
                cwd=directory, env=os.environ | {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)},
            ).returncode  # fmt: skip
        log = server.tail()
        if "code=request_failed" in log:
            print(f"The server met errors it did not foresee:\n{log}")
            code = code or 1
        history = server.api.history()
        assert [event["position"] for event in history] == list(range(len(history)))
        print(f"{time.monotonic() - started:.0f} s; the ledger has {len(history)} events and the server is well.")
        return code
    finally:
        server.destroy()


if __name__ == "__main__":
    sys.exit(main())
