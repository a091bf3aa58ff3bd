"""The alerts as an object for the Prometheus operator, made from deploy/prometheus: deploy/kubernetes/monitoring/rules.yaml."""

import textwrap

from handbook import ROOT

RULES = ROOT / "deploy/prometheus/pinledger.rules.yml"
OBJECT = ROOT / "deploy/kubernetes/monitoring/rules.yaml"
HEAD = """\
# Made from deploy/prometheus/pinledger.rules.yml: `python3 Tests/Support/python/prometheus_rule.py` writes it again.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: pinledger
spec:
"""


def text() -> str:
    rules = RULES.read_text()
    return HEAD + textwrap.indent(rules[rules.index("groups:") :], "  ")


if __name__ == "__main__":
    OBJECT.write_text(text())
