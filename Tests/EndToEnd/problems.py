"""The problem that an answer is to be."""

from pinledger import Answer


def expect_problem(answer: Answer, status: int | tuple[int, ...], type: str | None = None, pointer: str | None = None) -> dict:
    """Sees that an answer is the problem that was expected, with everything a problem has; returns it."""
    statuses = (status,) if isinstance(status, int) else status
    assert answer.status in statuses, str(answer)
    assert answer["Content-Type"] == "application/problem+json", str(answer)
    problem = answer.json
    assert set(problem) >= {"type", "title", "status", "detail", "advice", "instance"}, str(answer)
    assert problem["status"] == answer.status, str(answer)
    assert problem["instance"] == f"urn:request:{answer['Request-Id']}", str(answer)
    assert all(isinstance(problem[name], str) and problem[name] for name in ("title", "detail", "advice")), str(answer)
    assert problem["detail"].endswith("."), str(answer)
    if type is not None:
        assert problem["type"] == f"/problems/{type}", str(answer)
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem.get("errors", [])], str(answer)
        assert all(error["detail"] for error in problem["errors"]), str(answer)
    return problem
