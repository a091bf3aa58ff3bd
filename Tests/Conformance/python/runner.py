"""The conformance kit's runner: reads one case in JSON from each line of its input, and writes one result for each."""

import base64
import json
import sys
from collections.abc import Callable, Set
from dataclasses import fields
from typing import Any

from pinledger_client import (
    Connection,
    Device,
    Evaluator,
    OutcomeQueue,
    Refused,
    Root,
    TelemetryKey,
    TrustAnchors,
    Verifier,
    compare_versions,
    is_sampled,
    report_request,
    verdict,
)

Case = dict[str, Any]

_DEVICE_MEMBERS = frozenset(field.name for field in fields(Device))
_CONNECTION_MEMBERS = frozenset(field.name for field in fields(Connection))


def verify(case: Case) -> Case:
    """The verdict on a document."""
    anchors = Root.of(_bytes(case["root"])).anchors if "root" in case else TrustAnchors(case["keys"])
    verifier = Verifier(anchors, case["app"], case["issuer"])
    now: int | None = case.get("now")
    held = verifier.read_stored(_bytes(case["held"])) if "held" in case else None
    try:
        document = verifier.verify(base64.b64decode(case["document"], validate=True), held, now)
    except Refused as refused:
        return {"verdict": "refused", "reason": refused.reason}
    result: Case = {"verdict": "accepted", "version": document.version}
    if now is not None:
        result["stale"] = document.is_stale(now)
    return result


def decide(case: Case) -> Case:
    """The decisions for the questions of a case."""
    evaluator = Evaluator(case["payload"])
    return {"decisions": [_answer(evaluator, question) for question in case["questions"]]}


def _answer(evaluator: Evaluator, question: Case) -> Case:
    device = Device(**_known(question["device"], _DEVICE_MEMBERS))
    decision = evaluator.decide(question["host"], device, question["now"])
    result: Case = {"outcome": decision.outcome, "reason": decision.reason, "pins": list(decision.pins)}
    if decision.arm is not None:
        result["arm"] = decision.arm
    if decision.host is not None:
        result["host"] = decision.host
    if "chain" in question and (judgement := verdict(decision, question["chain"])) is not None:
        result["verdict"] = judgement
    return result


def version(case: Case) -> Case:
    """The order of two versions."""
    order = compare_versions(case["a"], case["b"])
    return {} if order is None else {"order": order}


def root(case: Case) -> Case:
    """The verdict on a root of trust, which replaces the client's newest or ships with the app."""
    newest = Root.of(_bytes(case["root"])) if "root" in case else None
    text = base64.b64decode(case["next"], validate=True)
    try:
        taken = Root.of(text) if newest is None else newest.next(text)
    except Refused as refused:
        return {"verdict": "refused", "reason": refused.reason}
    return {
        "verdict": "accepted",
        "version": taken.version,
        "expires": taken.expires,
        "document_keys": taken.anchors.key_ids,
    }


def report(case: Case) -> Case:
    """The request that a client sends after a day's connections."""
    install, now = case["install"], case["now"]
    if not is_sampled(install, now, case["share"]):
        return {"sampled": False}
    queue = OutcomeQueue(install)
    for connection in case["connections"]:
        queue.record(Connection(**_known(connection, _CONNECTION_MEMBERS)))
    request = report_request(
        app=case["app"],
        key=TelemetryKey.of(case["key"]["id"], case["key"]["secret"]),
        install=install,
        document_version=case["document_version"],
        outcomes=queue.batch(),
        now=now,
        platform=case.get("platform"),
        app_version=case.get("app_version"),
    )
    body = base64.b64encode(request.body).decode("ascii")
    return {"sampled": True, "body": body, "signature": request.signature}


def _bytes(text: str) -> bytes:
    # Text that is not ASCII becomes bytes that no token and no root has.
    return text.encode("utf-8", "surrogatepass")


def _known(members: Case, names: Set[str]) -> Case:
    return {name: value for name, value in members.items() if name in names}


_KINDS: dict[str, Callable[[Case], Case]] = {
    "verify": verify,
    "decide": decide,
    "version": version,
    "root": root,
    "report": report,
}


def result_of(line: bytes) -> Case:
    """The result of the case in one line; `error` for a case that the kit does not describe."""
    try:
        case = json.loads(line)
        return _KINDS[case["kind"]](case)
    except Exception as error:
        # One malformed case must not keep the others from being answered.
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    """Answers the cases on standard input until it ends. Results are written in blocks."""
    for line in sys.stdin.buffer:
        if line.strip():
            sys.stdout.write(json.dumps(result_of(line), separators=(",", ":")) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
