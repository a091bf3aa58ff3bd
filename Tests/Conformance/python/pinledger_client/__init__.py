"""A client for Pinledger's signed documents: it verifies them, decides what a connection gets, and writes reports."""

from .devices import Device
from .evaluation import Decision, Evaluator, verdict
from .keys import TrustAnchors
from .reports import Connection, OutcomeQueue, ReportRequest, TelemetryKey, is_sampled, report_request
from .verification import Document, Refused, Verifier
from .versions import compare_versions

__all__ = [
    "Connection",
    "Decision",
    "Device",
    "Document",
    "Evaluator",
    "OutcomeQueue",
    "Refused",
    "ReportRequest",
    "TelemetryKey",
    "TrustAnchors",
    "Verifier",
    "compare_versions",
    "is_sampled",
    "report_request",
    "verdict",
]
