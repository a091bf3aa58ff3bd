"""A client for Pinledger's signed documents: it verifies them, decides what a connection gets, and writes reports."""

from .devices import Device
from .evaluation import Decision, Evaluator, verdict
from .keys import TrustAnchors
from .refusal import Refused
from .reports import Connection, OutcomeQueue, ReportRequest, TelemetryKey, is_sampled, report_request
from .roots import Root
from .verification import Document, Verifier
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
    "Root",
    "TelemetryKey",
    "TrustAnchors",
    "Verifier",
    "compare_versions",
    "is_sampled",
    "report_request",
    "verdict",
]
