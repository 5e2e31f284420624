"""What a release will cost and how good it can be, from public facts only, before any is spent."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprct.errors import ConfirmationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.budget import Budget

_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Plan:
    """A release described, priced, and not yet made.

    Parameters
    ----------
    method : str
    budget : Budget
        What ``fit`` will charge.
    facts : mapping of str to str
        Public numbers of the method.
    consequences : tuple of str
        What follows from them, in plain words.
    warnings : tuple of str
        What is likely to disappoint, and what to change.
    refusal : str
        Why ``fit`` refuses unless ``confirm=True``; empty where it does not.

    Notes
    -----
    A plan is a function of the schema, n and the budget: reading it costs nothing.
    """

    method: str
    budget: Budget
    facts: Mapping[str, str]
    consequences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    def check(self, *, confirm: bool) -> None:
        """Refuse a release that is likely a mistake, unless it is confirmed.

        Raises
        ------
        ConfirmationError
        """
        if self.refusal and not confirm:
            raise ConfirmationError(self.refusal)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"Plan: {self.method}, {self.budget}"]
        width = max((len(key) for key in self.facts), default=0)
        lines += [
            textwrap.fill(
                f"{key:<{width}}  {value}",
                _WIDTH,
                initial_indent="  ",
                subsequent_indent=" " * (width + 4),
            )
            for key, value in self.facts.items()
        ]
        marked = [("-", text) for text in self.consequences]
        marked += [("!", text) for text in (*self.warnings, self.refusal) if text]
        lines += [
            textwrap.fill(text, _WIDTH, initial_indent=f"  {mark} ", subsequent_indent="    ")
            for mark, text in marked
        ]
        return "\n".join(lines)
