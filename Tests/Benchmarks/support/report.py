"""What a benchmark found: ratios, figures and goals, printed in this order and kept as JSON."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Goal:
    """One line of what the product promises, with the figure it is held to."""

    text: str
    figure: str
    met: bool

    def __str__(self) -> str:
        return f"{'met    ' if self.met else 'NOT MET'}  {self.text}: {self.figure}"


@dataclass
class Result:
    name: str
    ratios: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Every measurement as it was taken.
    raw: dict = field(default_factory=dict)

    def ratio(self, text: str, value: float) -> None:
        self.ratios.append(f"{value:8.2f}  {text}")

    def goal(self, text: str, figure: str, met: bool) -> None:
        self.goals.append(Goal(text, figure, bool(met)))

    def __str__(self) -> str:
        lines = [f"== {self.name} =="]
        for title, entries in [
            ("ratios", self.ratios), ("figures", self.figures), ("goals", self.goals), ("notes", self.notes),
        ]:  # fmt: skip
            if entries:
                lines += [f"{title}:"] + [f"  {entry}" for entry in entries]
        return "\n".join(lines)

    def keep(self, directory: Path, machine: dict, quick: bool) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        content = {"quick": quick, "machine": machine, **asdict(self)}
        (directory / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n")
