"""What a comparison found, as values that never hold a value of either file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dprct.io.facets import FACETS


@dataclass(frozen=True, slots=True)
class Difference:
    """One facet in which two files differ.

    Parameters
    ----------
    facet : str
        A key of :data:`dprct.io.facets.FACETS`.
    column : str or None
        The variable; the name of a label set for ``label-set``; the owner for ``notes`` and
        ``characteristics``; None for the file as a whole.
    detail : str
        What differs, in words and counts.
    permitted : bool
        Whether a certificate lists the difference.
    reason : str
        The certificate's reason; empty where the difference is not permitted.

    Examples
    --------
    >>> print(Difference("values", "age", "12 of 40 rows differ"))
    values of age: 12 of 40 rows differ
    """

    facet: str
    column: str | None
    detail: str
    permitted: bool = False
    reason: str = ""

    def __str__(self) -> str:
        where = f"{self.facet} of {self.column}" if self.column is not None else self.facet
        why = f" [permitted: {self.reason}]" if self.permitted else ""
        return f"{where}: {self.detail}{why}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every difference between two files; true when there is any, false when there is none.

    Parameters
    ----------
    differences : tuple of Difference
        In the order of :data:`dprct.io.facets.FACETS`.
    names : (str, str)
        How the two files are called in the text.

    Examples
    --------
    >>> bool(Comparison(()))
    False
    >>> print(Comparison((Difference("rows", None, "40 in one, 41 in the other"),)))
    the first and the second differ in 1 way that no certificate permits
      rows: 40 in one, 41 in the other
    """

    differences: tuple[Difference, ...]
    names: tuple[str, str] = ("the first", "the second")

    def __bool__(self) -> bool:
        return bool(self.differences)

    @property
    def unexpected(self) -> tuple[Difference, ...]:
        """The differences that no certificate permits."""
        return tuple(d for d in self.differences if not d.permitted)

    @property
    def permitted(self) -> tuple[Difference, ...]:
        """The differences that a certificate permits."""
        return tuple(d for d in self.differences if d.permitted)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready values."""
        return {
            "files": list(self.names),
            "identical": not self.differences,
            "unexpected": [asdict(d) for d in self.unexpected],
            "permitted": [asdict(d) for d in self.permitted],
        }

    def __str__(self) -> str:
        both = " and ".join(self.names)
        if not self.differences:
            return f"{both} are identical"
        return "\n".join(
            [
                *_block(f"{both} differ in {{}} that no certificate permits", self.unexpected),
                *_block(f"{both} differ in {{}} that the certificate permits", self.permitted),
            ]
        )


def _block(heading: str, differences: tuple[Difference, ...]) -> list[str]:
    if not differences:
        return []
    count = f"{len(differences)} way{'s' if len(differences) > 1 else ''}"
    return [heading.format(count), *(f"  {difference}" for difference in differences)]


def in_order(differences: list[Difference]) -> tuple[Difference, ...]:
    """Return differences in the order of the facets, otherwise as found."""
    rank = {facet: place for place, facet in enumerate(FACETS)}
    return tuple(sorted(differences, key=lambda difference: rank[difference.facet]))
