"""What a design says of a realised assignment: the rules that it breaks, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class DesignCheck:
    """The rules of a design that an assignment breaks; false where it breaks none.

    Parameters
    ----------
    design : str
        The design in one sentence.
    problems : tuple of str
        One sentence per broken rule, with names of columns and arms and no value of the data.

    Examples
    --------
    >>> found = DesignCheck("Complete randomisation.", ("the data lack column 'treat'",))
    >>> found.consistent, len(found), list(found)
    (False, 1, ["the data lack column 'treat'"])
    """

    design: str
    problems: tuple[str, ...] = ()

    @property
    def consistent(self) -> bool:
        """Whether the assignment could have come from the design."""
        return not self.problems

    def require(self) -> None:
        """Refuse an assignment that cannot have come from the design.

        Raises
        ------
        ParameterError
            If there is a problem; the message lists them all.
        """
        if self.problems:
            raise ParameterError(
                f"the assignment is not one of the design ({'; '.join(self.problems)}); declare "
                "the design that was used, or say attrition=True if rows were lost after it"
            )

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[str]:
        return iter(self.problems)

    def __str__(self) -> str:
        if self.consistent:
            return f"{self.design}\nThe assignment is consistent with this design."
        lines = [f"  - {problem}" for problem in self.problems]
        return "\n".join([self.design, "The assignment is not consistent with it:", *lines])
