"""The shipped dashboard, asked of the lab's Prometheus as Grafana asks it."""

import json
from pathlib import Path

from prometheus import Prometheus

FILE = Path(__file__).parents[2] / "deploy/grafana/pinledger.json"
#: Panels whose condition no fault of the lab brings about.
CONDITIONAL = {"Firebase projects": "no project of Firebase is on this machine"}
VARIABLES = {"$job": "pinledger", "$instance": ".*", "$__rate_interval": "1m"}


def unanswered(prometheus: Prometheus, seconds: int) -> list[str]:
    """The queries of panels that had no series at any moment of the last seconds."""
    missing = []
    for panel in json.loads(FILE.read_text())["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for variable, text in VARIABLES.items():
                expression = expression.replace(variable, text)
            if panel["title"] not in CONDITIONAL and not prometheus.query(f"last_over_time(({expression})[{seconds}s:10s])"):
                missing.append(f"{panel['title']}: {expression}")
    return missing
