"""The seal of a schema: when its facts were fixed, and what they were."""

from __future__ import annotations

from dprct.records import dataclass
from dprct.schema.columns import shown


@dataclass(frozen=True)
class Seal:
    """When the public facts were fixed, and what they were."""

    at: str  # time in UTC, ISO 8601
    sha256: str  # hash of every public fact
    before_opening: bool  # whether the facts were fixed before the data section was read
    by: str = ""  # who declared the facts; empty where nobody was named
    # How often the data had refused what was declared of them, as far as is recorded.
    refused: int = 0
    passed: int = 0  # how many other declarations they had been opened under, and passed

    @property
    def when(self) -> str:
        """When the facts were fixed, in words, and what these words rest on."""
        parts = [
            f"{number} {words}{'' if number == 1 else 's'}{more}"
            for number, words, more in (
                (self.refused, "refused opening", ""),
                (self.passed, "opening", " under other facts"),
            )
            if number
        ]
        if not (parts or self.before_opening):
            return "sealed after opening"
        said = f"sealed after {' and '.join(parts)}" if parts else "before the data were read"
        return f"{said} (by the record of openings; one that was deleted cannot be detected)"

    def __str__(self) -> str:
        who = "".join(c if c.isprintable() else " " for c in shown(self.by)).strip()
        who = who or "somebody unnamed"
        return f"schema {self.sha256[:16]} declared by {who} on {self.at}, {self.when}"
