"""The program's sources: what must not stand in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Texts that are put into SQL beside parameters: names of columns and conditions that are constants of the program, and numbers. No text of a
# request, a file or a row is among them; a channel's name is quoted.
INTERPOLATED = {
    "EventStore/Audit/AuditDeposits": {"PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "EventStore/Audit/LedgerAuditor": {"AuditPage.columns"},
    "EventStore/Database/NodeRegistry": {"isLive", "Self.isLive", "PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "EventStore/Database/VouchRequests": {"PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "EventStore/Database/Statements": {"PostgresConfiguration.commitsWait", "fold", "days"},
    "EventStore/Pruning/BundleWriter": {"columns", "positions.lowerBound", "positions.upperBound"},
    "EventStore/Read/BulkReader": {"LedgerPage.columns", "positions.lowerBound", "positions.upperBound"},
    "EventStore/Read/LedgerReader": {"clause()", "order", "parameters.count + 1"},
    "Postgres/Connection/PostgresConfiguration": {"requirement"},
    "Postgres/Connection/PostgresConnection+Transaction": {"scope", "timeout?.wholeMilliseconds ?? 0"},
    "Postgres/Listener/ListenerLoop": {"Self.quoted(channel)"},
    "Signals/TokenUses/TokenUseStore": {"Self.recentLimit", "PostgresConfiguration.isPrimaryAndWaitsForNone"},
    "Webhooks/WebhookStore": {"condition"},
    # A statement that an operator is told to run by themselves.
    "pinledger/Serve/DoctorCommand+Durability": {"name"}, "pinledger/Serve/MigrateCommand": {"name"},
}  # fmt: skip


def interpolations() -> dict[str, set[str]]:
    """Texts that are put into literals that begin like SQL, by file."""
    words = "SELECT|INSERT|UPDATE|DELETE|COPY|CREATE|ALTER|SET|WITH|CALL|LISTEN|NOTIFY|TRUNCATE|DROP|LOCK|GRANT|BEGIN|SHOW|DECLARE|FETCH"
    statement = re.compile(rf'"(?:"")?\s*(?:{words})\b')
    literal = re.compile(r'"""(?:(?!""").)*"""|"(?:[^"\\\n]|\\\([^)\n]*\)|\\.)*"', re.S)
    found = {}
    for file in (ROOT / "Sources").rglob("*.swift"):
        for text in literal.findall(file.read_text()):
            values = re.findall(r"\\\(((?:[^()]|\([^()]*\))*)\)", text) if statement.match(text) else []
            if values:
                found.setdefault(str(file.relative_to(ROOT / "Sources").with_suffix("")), set()).update(values)
    # A regular expression of SQL's own.
    found.pop("EventStore/Pruning/EventPartition", None)
    return found


def test_sql_is_put_together_from_constants_alone():
    assert interpolations() == INTERPOLATED
