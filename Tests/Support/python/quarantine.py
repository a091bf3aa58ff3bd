"""The tests whose failure does not count until they are mended: quarantine.txt, `file::test | issue | YYYY-MM-DD` a line."""

from pathlib import Path

FILE = Path(__file__).parents[2] / "quarantine.txt"


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def issues() -> dict[str, str]:
    """The issue of each test, by the test's name without its parameters."""
    parts = [line.split("|") for line in lines(FILE.read_text())]
    return {part[0].strip(): part[1].strip() for part in parts}
