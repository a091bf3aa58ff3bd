"""What the time of an answer tells a token of one app of the things of another: nothing, beside things that do not exist."""

import http.client
import random
import time

from support.bench import Bench
from support.report import Result
from support.servers import Node

from pinledger import API

MINE, THEIRS, NOWHERE = "com.example.mine", "org.example.theirs", "org.example.nobody"
SAMPLES = 10_000
#: Cliff's delta: 0 where each of two sides is as often the slower one, 1 where one always is.
GOAL = 0.1


def delta(left: list[float], right: list[float]) -> float:
    """Cliff's delta by the ranks of the Mann-Whitney U test."""
    ranked = sorted([(value, 0) for value in left] + [(value, 1) for value in right])
    ranks, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        ranks += sum(side == 0 for _, side in ranked[place:end]) * (place + 1 + end) / 2
        place = end
    above = ranks - len(left) * (len(left) + 1) / 2
    return abs(2 * above / (len(left) * len(right)) - 1)


class Asker:
    """Requests of one token on one connection, timed each."""

    def __init__(self, api: API):
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=30)
        self.token = api.token

    def time(self, method: str, path: str, body: bytes | None) -> float:
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Content-Type": "application/json"} if body else {})
        began = time.perf_counter()
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 404, (method, path, answer.status)
        return time.perf_counter() - began


def run(bench: Bench) -> Result:
    result = Result("existence")
    _, ledger = bench.cluster.ledger()
    samples = int(bench.pick(str(SAMPLES), "200"))
    with Node(ledger) as node:
        for app in (MINE, THEIRS):
            node.api.make_app(app, f"api.{app}")
        for number in range(200):
            node.api.must("PATCH", f"/v1/apps/{THEIRS}", {"display_name": f"Theirs {number}"})
        held = node.api.holding("editor", THEIRS).get("/v1/whoami").json["token"]["token_id"]
        asker = Asker(node.api.holding("admin", MINE))
        pairs = {
            "GET an app": ("GET", f"/v1/apps/{THEIRS}", f"/v1/apps/{NOWHERE}", None),
            "GET its history": ("GET", f"/v1/apps/{THEIRS}/history", f"/v1/apps/{NOWHERE}/history", None),
            "PATCH it": ("PATCH", f"/v1/apps/{THEIRS}", f"/v1/apps/{NOWHERE}", b'{"display_name":"Mine"}'),
            "GET a host": ("GET", f"/v1/apps/{THEIRS}/hosts/api.{THEIRS}", f"/v1/apps/{NOWHERE}/hosts/api.{NOWHERE}", None),
            "GET a token": ("GET", f"/v1/tokens/{held}", "/v1/tokens/tok_0000000000000000", None),
        }
        for name, (method, there, nowhere, body) in pairs.items():
            sides: dict[str, list[float]] = {there: [], nowhere: []}
            for _ in range(samples):
                # In an order of chance, so that what happens beside hits both sides alike.
                for path in random.sample([there, nowhere], 2):
                    sides[path].append(asker.time(method, path, body))
            found = delta(sides[there], sides[nowhere])
            middle = [sorted(times)[len(times) // 2] * 1e6 for times in sides.values()]
            result.raw[name] = {"delta": found, "median_us": middle, "samples": samples}
            result.figures.append(f"{name}: Cliff's delta {found:.3f}; medians {middle[0]:,.1f} and {middle[1]:,.1f} \u00b5s")
            result.goal(f"{name}: effect below {GOAL} of {samples} pairs", f"{found:.3f}", found < GOAL)
    return result
