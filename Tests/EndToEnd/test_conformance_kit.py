"""The conformance kit: its vectors are what the library computes, and the clients in Python and Java answer as the library does.

A landing compares a tenth of the random cases of `make test-all`, and `make conformance` many more than both.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pinledger import FULL

KIT = Path(__file__).parents[1] / "Conformance"
GENERATOR = KIT.parents[1] / ".build/debug/ConformanceGenerator"
PYTHON = [sys.executable, str(KIT / "python/runner.py")]
FILES = sorted(path.name for path in (KIT / "vectors").glob("*.json"))


@pytest.fixture(scope="module")
def java(tmp_path_factory) -> list[str]:
    """The command of the client in Java, compiled without OkHttp."""
    classes = tmp_path_factory.mktemp("classes")
    sources = [str(path) for path in (KIT / "java/src").rglob("*.java") if "import okhttp3." not in path.read_text()]
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", str(classes), *sources], check=True, timeout=300)
    return ["java", "-XX:+UseSerialGC", "-cp", str(classes), "com.pinledger.client.Runner"]


def answers(command: list[str], cases: list[dict]) -> list[dict]:
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_vectors_are_what_the_library_computes(tmp_path):
    subprocess.run([GENERATOR, "vectors", tmp_path], check=True, timeout=300)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES and len(FILES) == 5
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (KIT / "vectors" / name).read_bytes(), f"{name}: run make conformance"


def test_each_client_answers_the_vectors(java):
    done = subprocess.run(
        [KIT / "check", "python=" + " ".join(PYTHON), "java=" + " ".join(java)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.count("java: ") == len(FILES), done.stdout + done.stderr
    wrong = subprocess.run([KIT / "check", "wrong=cat"], capture_output=True, text=True, timeout=300)
    assert wrong.returncode == 1 and "0 of" in wrong.stdout


@pytest.mark.parametrize("language", ["python", "java"])
def test_each_client_refuses_a_document_that_is_too_large_before_it_looks_at_it(language, java):
    case = json.loads((KIT / "vectors/verify.json").read_text())["cases"][0]
    command = PYTHON if language == "python" else java
    for size, reason in [(2_097_152, "malformed_token"), (2_097_153, "too_large")]:
        # base64 of that many letters A.
        text = "QUFB" * (size // 3) + {0: "", 1: "QQ==", 2: "QUE="}[size % 3]
        asked = {**case, "document": text}
        del asked["expected"]
        assert answers(command, [asked]) == [{"verdict": "refused", "reason": reason}]
    for size, reason in [(16_384, "malformed_root"), (16_385, "too_large")]:
        asked = {"kind": "root", "name": "large", "next": base64.b64encode(b"A" * size).decode()}
        assert answers(command, [asked]) == [{"verdict": "refused", "reason": reason}]


def test_server_library_python_and_java_agree_on_random_documents_devices_and_roots(java):
    depth = "2000,20000,2000" if FULL else "200,2000,200"
    verify, decide, root = os.environ.get("PINLEDGER_CONFORMANCE", depth).split(",")
    done = subprocess.run(
        [KIT / "agree", "--generator", GENERATOR, "--verify", verify, "--decide", decide, "--root", root, "--seed", "20", "python=" + " ".join(PYTHON),
         "java=" + " ".join(java), f"server={GENERATOR} answer server"],
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
