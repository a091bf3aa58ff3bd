"""The page of the handbook that says what to do about each alert, as its reader sees it."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "Sources/CHandbook/pages/alerts.md"


def plain(text: str) -> str:
    """Text without line breaks, code marks and addresses of links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(text.replace("`", "").split())


@dataclass
class Section:
    """The part of the page about one alert."""

    alert: str
    text: str

    @classmethod
    def of(cls, alert: str, page: Path = PAGE) -> "Section":
        parts = re.split(r"^## (\w+)\n", page.read_text(), flags=re.MULTILINE)
        sections = dict(zip(parts[1::2], parts[2::2], strict=True))
        assert alert in sections, f"the page has no section {alert}"
        return cls(alert, sections[alert])

    def says(self, words: str) -> bool:
        return plain(words) in plain(self.text)

    def command(self, text: str, **values: str) -> list[str]:
        """A command of the section, with its words in capitals replaced by values."""
        assert f"`{text}`" in " ".join(self.text.split()), f"the section {self.alert} has no command {text}"
        words = shlex.split(text)
        return [values.get(word, word) for word in words]
