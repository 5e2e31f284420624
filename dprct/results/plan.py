"""What a release will cost and how good it can be, from public facts only, before any is spent."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from dprct.errors import ConfirmationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from dprct.privacy.allocation import Allocation
    from dprct.privacy.budget import Budget

_WIDTH = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNumber:
    """One row of :attr:`Plan.table`; NaN where a number is not known or does not apply.

    Parameters
    ----------
    kind : {"draw", "coefficient"}
        A draw of noise, or a coefficient of the results.
    part : str
        What is drawn, or the name of the coefficient.
    mechanism : str
        Class of :mod:`dprct.privacy.mechanisms` or :mod:`dprct.privacy.histogram`.
    epsilon, delta, rho : float
        The cost of the draw by itself.
    share : float
        Its epsilon divided by the budget's.  Shares of draws from disjoint rows do not add up.
    scale, noise_sd : float
        Scale and standard deviation of the noise: of a draw, in units of its grid; of a
        coefficient, in units of the outcome.
    std_error : float
        Expected standard error of a coefficient, sampling and noise together.
    """

    kind: Literal["draw", "coefficient"]
    part: str
    mechanism: str = ""
    epsilon: float = math.nan
    delta: float = math.nan
    rho: float = math.nan
    share: float = math.nan
    scale: float = math.nan
    noise_sd: float = math.nan
    std_error: float = math.nan


def planned_draws(allocation: Allocation) -> tuple[PlannedNumber, ...]:
    """Return what the mechanisms of an allocation claim and how much noise they add.

    Examples
    --------
    >>> from dprct.privacy.allocation import Allocation
    >>> from dprct.privacy.budget import Budget
    >>> from dprct.privacy.mechanisms import DiscreteLaplace
    >>> half = DiscreteLaplace(0.5, l1=1)
    >>> both = Allocation(budget=Budget(1), parts={"effect": half, "variance": half})
    >>> [(one.part, one.share, one.scale) for one in planned_draws(both)]
    [('effect', 0.5, 2.0), ('variance', 0.5, 2.0)]
    """
    total = float(allocation.budget.epsilon)
    return tuple(_draws(allocation, total, ""))


def _draws(allocation: Allocation, total: float, above: str) -> Iterator[PlannedNumber]:
    for name, part in allocation.parts.items():
        mechanism: Any = part  # an allocation can be a part of another
        if hasattr(mechanism, "parts"):
            yield from _draws(mechanism, total, f"{above}{name}: ")
            continue
        cost = mechanism.cost()
        rho = cost.concentrated()
        yield PlannedNumber(
            kind="draw",
            part=f"{above}{name}",
            mechanism=type(mechanism).__name__,
            epsilon=float(cost.budget.epsilon),
            delta=float(cost.budget.delta),
            rho=math.nan if rho is None else float(rho),
            share=float(cost.budget.epsilon) / total,
            scale=float(getattr(mechanism, "scale", math.nan)),
            noise_sd=float(getattr(mechanism, "noise_sd", math.nan)),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a release would do and cost. Making a plan costs nothing.

    Parameters
    ----------
    method : str
    budget : Budget
        The budget that ``fit`` will charge.
    facts : mapping of str to str
        Public numbers of the method.
    consequences : tuple of str
        What follows from them, in plain words.
    warnings : tuple of str
        What is likely to disappoint, and what to change.
    refusal : str
        Why ``fit`` refuses unless ``confirm=True``; empty if it does not refuse.
    numbers : tuple of PlannedNumber
        The rows of :attr:`table`.

    Notes
    -----
    A plan depends only on the options, the schema, n and other public facts, and the budget.
    """

    method: str
    budget: Budget
    facts: Mapping[str, str]
    consequences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str = ""
    numbers: tuple[PlannedNumber, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The numbers of the plan: one row for each draw of noise and each expected coefficient.

        Returns
        -------
        DataFrame
            Columns ``kind`` ("draw" or "coefficient"), ``part``, ``mechanism``, ``epsilon``,
            ``delta``, ``rho``, ``share``, ``scale``, ``noise_sd``, ``std_error``. Scale and
            ``noise_sd`` of a draw are in units of the grid on which it is drawn; those of a
            coefficient are in units of the outcome.  NaN means unknown or not applicable; a
            standard error needs a declared ``sd``. A method without a guarantee has no rows.

        Examples
        --------
        >>> from dprct.privacy.budget import Budget
        >>> draw = PlannedNumber(kind="draw", part="effect", epsilon=0.5, share=0.5)
        >>> plan = Plan("a method", Budget(1), {}, numbers=(draw,))
        >>> plan.table.loc[0, ["part", "share"]].tolist()
        ['effect', 0.5]
        """
        import pandas as pd

        names = [field.name for field in fields(PlannedNumber)]
        rows = [[getattr(number, name) for name in names] for number in self.numbers]
        words = dict.fromkeys(names[:3], object) | dict.fromkeys(names[3:], float)
        return pd.DataFrame(rows, columns=names).astype(words)

    def check(self, *, confirm: bool) -> None:
        """Raise if the plan refuses the release, unless it is confirmed.

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
