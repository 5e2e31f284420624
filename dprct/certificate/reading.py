"""What the commands of readers find on a calibrated file, in the words of a certificate."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLERANCE = 5e-5
"""A ratio this far below one is called too small: less would not show in the table."""

_HEADING = ("command", "smallest", "largest")


@dataclass(frozen=True, slots=True)
class ErrorRatio:
    """What one command finds on the file, as a share of the released error.

    Parameters
    ----------
    command : str
        As in Stata, with ``y``, ``t`` and ``x`` for outcome, arms and covariates.
    smallest, largest : float
        Over all outcomes, arms and covariate sets; NaN where the errors do not exist.
    where : str
        Outcome and arm of the smallest.

    Examples
    --------
    >>> ErrorRatio("regress y t x", 0.9, 1.1, "earn on treat").too_small
    True
    """

    command: str
    smallest: float
    largest: float
    where: str = ""

    @property
    def too_small(self) -> bool:
        """Whether some interval of this command is narrower than the valid one."""
        return self.smallest < 1 - TOLERANCE


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader of a calibrated file finds.

    Parameters
    ----------
    ratios : tuple of ErrorRatio
    breaks : tuple of str
        Idioms that stop, or give artefacts.

    Examples
    --------
    >>> reading = Reading((ErrorRatio("regress y t x, vce(robust)", 1.0, 1.0),))
    >>> print(reading.lines()[1])
    regress y t x, vce(robust)    1.0000   1.0000
    >>> Reading.from_dict(reading.to_dict()) == reading
    True
    """

    ratios: tuple[ErrorRatio, ...] = ()
    breaks: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the table of errors as lines in columns; ``!`` marks those that are too small."""
        width = max(len(ratio.command) for ratio in self.ratios) if self.ratios else 0
        rows = [
            (ratio.command, shown(ratio.smallest), shown(ratio.largest), _remark(ratio))
            for ratio in self.ratios
        ]
        return [
            f"{command:<{width}}  {low:>8} {high:>8}  {remark}".rstrip()
            for command, low, high, remark in [(*_HEADING, ""), *rows]
        ]

    def blocks(self) -> list[str]:
        """Return what a certificate prints: the table, and what breaks."""
        return [
            "How commands read this file: the error that they find over the released one, which",
            "holds sampling and privacy noise (over outcomes, arms and covariate sets):",
            *self.lines(),
            "",
            "What breaks on this file:",
            *(f"- {line}" for line in self.breaks),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an error that does not exist is null."""
        return {
            "ratios": [
                {key: _plain(value) for key, value in asdict(ratio).items()}
                for ratio in self.ratios
            ],
            "breaks": list(self.breaks),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Reading:
        """Return what :meth:`to_dict` wrote."""
        ratios = tuple(
            ErrorRatio(
                entry["command"],
                _number(entry["smallest"]),
                _number(entry["largest"]),
                entry["where"],
            )
            for entry in content["ratios"]
        )
        return cls(ratios, tuple(content["breaks"]))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _remark(ratio: ErrorRatio) -> str:
    return "! too small" if ratio.too_small else ""


def shown(ratio: float) -> str:
    """Return a ratio with four decimals; one that does not exist is ``none``."""
    return f"{ratio:.4f}" if math.isfinite(ratio) else "none"


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
