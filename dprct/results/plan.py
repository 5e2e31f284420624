"""What a release will cost and how good it can be, from public facts only, before any is spent."""

from __future__ import annotations

import math
import textwrap
from dataclasses import field, fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dprct.arguments import Checked, given
from dprct.errors import ConfirmationError, ParameterError, unmarked
from dprct.privacy.budget import caution
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from dprct.privacy.budget import Budget
    from dprct.privacy.mechanisms import Allocation
    from dprct.schema.schema import Schema


_WIDTH = 88
_MOST = 4
"""Outcomes that a line names, of which the same is said."""

_LABEL = 26
"""Longest label that shares its line with what is said; a longer one has a line of its own."""

_HEAD = 3
"""Facts that stand in the shortest plan: cost, error, estimand."""

STD_ERROR = "std_error"
"""Expected standard error of an estimate, sampling and noise together."""
WITHOUT_PRIVACY = "std_error_without_privacy"
"""What it would be without noise."""
NOISE_SD = "noise_sd"
"""Standard deviation that the noise alone gives an estimate."""
RATIO = "error_ratio"
"""Expected error over that without privacy, where the errors themselves are not known."""
ERROR, ESTIMAND = "error", "estimand"
"""What a plan begins with, after its cost, where a method says more of it than its estimates do."""


_OF = ("regression", "outcome", "term")
"""What says to which estimate a planned number belongs."""


@dataclass(frozen=True)
class PlannedNumber:
    """One planned number: a row of :meth:`Plan.to_frame`."""

    # What it is, such as ``"std_error"``; numbers of one quantity stand on one line of a plan.
    quantity: str
    value: float = math.nan  # NaN where there is nothing but words
    unit: str = ""  # of the value; empty for counts and shares
    why: str = ""  # what it depends on, or what follows from it
    # regression, outcome, term: to which estimate it belongs; numbers of one estimate stand on one
    # line.
    regression: str = field(default="", kw_only=True)
    outcome: str = field(default="", kw_only=True)
    term: str = field(default="", kw_only=True)

    @property
    def estimate(self) -> str:
        """Name of the estimate; empty for a number of the whole fit."""
        return ": ".join(name for name in (self.regression, self.outcome, self.term) if name)

    @property
    def of_draw(self) -> bool:
        """Whether it is of one draw of noise, which the words of a plan leave out."""
        return self.quantity.startswith(_DRAW)

    @property
    def name(self) -> str:
        """What the number is, as a plan says it before the number."""
        return f"{self.quantity.replace('_', ' ')} "

    def words(self) -> str:
        """Line of a plan: the number with its unit and what it depends on."""
        name = self.name if self.estimate else ""
        unit = f" {self.unit}" if self.unit and not self.unit.startswith(_UNITS_OF) else ""
        if math.isnan(self.value):
            return self.why
        return f"{name}{_spelled(self.value)}{unit}" + (f" ({self.why})" if self.why else "")


_UNITS_OF = "units of "


def units_of(outcome: str) -> str:
    """Name of the unit in which an outcome is measured."""
    return f"{_UNITS_OF}{outcome}"


def notes(lines: Mapping[str, str]) -> tuple[PlannedNumber, ...]:
    """Rows of a plan that are words alone, by what they are about."""
    return tuple(PlannedNumber(name, why=words) for name, words in lines.items())


def errors_of_estimate(
    std_error: float,
    without: float,
    noise_sd: float,
    *,
    why: str = "",
    unit: str = "",
    regression: str = "",
    outcome: str = "",
    term: str = "",
) -> Iterator[PlannedNumber]:
    """Errors of one estimate: with privacy, without, and of the noise alone."""
    unit = unit or (units_of(outcome) if outcome else "")
    values = {STD_ERROR: std_error, WITHOUT_PRIVACY: without, NOISE_SD: noise_sd}
    for quantity, value in values.items():
        yield PlannedNumber(
            quantity, value, unit, why if quantity == STD_ERROR else "",
            regression=regression, outcome=outcome, term=term,
        )  # fmt: skip


def _spelled(value: float) -> str:
    if math.isfinite(value) and abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    return f"{value:.4g}"


@dataclass(frozen=True, kw_only=True)
class PlannedDraw:
    """One draw of noise of an allocation: what it costs, and how large it is."""

    part: str  # what is drawn
    mechanism: str  # class of :mod:`dprct.privacy.mechanisms` or :mod:`dprct.privacy.histograms`
    # epsilon, delta, rho: the cost of the draw by itself; NaN where it is not known.
    epsilon: float
    delta: float
    rho: float
    # Its epsilon divided by the budget's.  Shares of draws from disjoint rows do not add up.
    share: float
    # scale, noise_sd: scale and standard deviation of the noise, in units of its grid.
    scale: float
    noise_sd: float

    def numbers(self) -> Iterator[PlannedNumber]:
        """Draw as rows of a plan."""
        for quantity in ("epsilon", "delta", "rho", "share", "scale", "noise_sd"):
            value = getattr(self, quantity)
            if not math.isnan(value):
                unit = "steps of its grid" if quantity in {"scale", "noise_sd"} else ""
                yield PlannedNumber(
                    f"{_DRAW}{quantity}", value, unit, self.mechanism, term=self.part
                )


_DRAW = "draw_"


def planned_draws(allocation: Allocation) -> tuple[PlannedDraw, ...]:
    """Draws of noise of an allocation, with what their mechanisms claim.

    Examples
    --------
    >>> from dprct.privacy.mechanisms import Allocation
    >>> from dprct.privacy.budget import Budget
    >>> from dprct.privacy.mechanisms import DiscreteLaplace
    >>> half = DiscreteLaplace(0.5, l1=1)
    >>> both = Allocation(budget=Budget(1), parts={"effect": half, "variance": half})
    >>> [(one.part, one.share, one.scale) for one in planned_draws(both)]
    [('effect', 0.5, 2.0), ('variance', 0.5, 2.0)]
    """
    total = float(allocation.budget.epsilon)
    return tuple(_draws(allocation, total, ""))


def _draws(allocation: Allocation, total: float, above: str) -> Iterator[PlannedDraw]:
    for name, part in allocation.parts.items():
        mechanism: Any = part  # an allocation can be a part of another
        if hasattr(mechanism, "parts"):
            yield from _draws(mechanism, total, f"{above}{name}: ")
            continue
        cost = mechanism.cost()
        rho = cost.concentrated()
        yield PlannedDraw(
            part=f"{above}{name}",
            mechanism=type(mechanism).__name__,
            epsilon=float(cost.budget.epsilon),
            delta=float(cost.budget.delta),
            rho=math.nan if rho is None else float(rho),
            share=float(cost.budget.epsilon) / total,
            scale=float(getattr(mechanism, "scale", math.nan)),
            noise_sd=float(getattr(mechanism, "noise_sd", math.nan)),
        )


@dataclass(frozen=True)
class Contents:
    """What a plan says besides its cost: numbers, what follows from them, what disappoints."""

    numbers: tuple[PlannedNumber, ...] = ()
    consequences: tuple[str, ...] = ()  # what follows from them, in plain words
    warnings: tuple[str, ...] = ()  # what is likely to disappoint, and what to change

    def in_words(self, words: Callable[[str], str]) -> Contents:
        """Contents in the words of another language."""
        return Contents(
            tuple(replace(number, why=words(number.why)) for number in self.numbers),
            tuple(map(words, self.consequences)),
            tuple(map(words, self.warnings)),
        )


@dataclass(frozen=True, eq=False)
class Plan(Checked):
    """What a release would do and cost. Making a plan costs nothing.

    Parameters
    ----------
    budget : Budget
        The budget that ``fit`` will charge.
    made : Contents, or callable that returns one
        Called once, when a number or a word is first asked for: a fit asks for none.
    refusal : str
        Why ``fit`` refuses unless ``confirm=True``; empty if it does not refuse.
    file_note : str
        What the notes of the file say of what is computed on it; empty if there is nothing to say.
    caution : str
        The first line: how little the budget promises (:func:`dprct.privacy.budget.caution`).
    priced : bool
        Whether anything is promised, and so charged.

    Notes
    -----
    A plan depends only on the options, the schema, n and other public facts, and the budget.

    Examples
    --------
    >>> from dprct.privacy.budget import Budget
    >>> errors = errors_of_estimate(0.5, 0.4, 0.3, outcome="wage", term="treat")
    >>> plan = Plan("a method", Budget(1), Contents(tuple(errors)))
    >>> print(plan)
    Plan: a method, epsilon=1
      cost         epsilon=1, charged by fit, once
      error        1.25 times that without privacy
      wage: treat  std error 0.5; std error without privacy 0.4; noise sd 0.3
    >>> plan.to_frame()[["quantity", "value", "term"]].tail(1).to_dict("records")
    [{'quantity': 'noise_sd', 'value': 0.3, 'term': 'treat'}]
    """

    method: str
    budget: Budget
    made: Contents | Callable[[], Contents] = Contents()
    refusal: str = ""
    file_note: str = ""
    caution: str = ""
    priced: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "refusal", unmarked(self.refusal))

    @property
    def contents(self) -> Contents:
        """Numbers, consequences and warnings, made when first asked for."""
        if not isinstance(self.made, Contents):
            object.__setattr__(self, "made", self.made())
        assert isinstance(self.made, Contents)
        return self.made

    @property
    def numbers(self) -> tuple[PlannedNumber, ...]:
        """The planned numbers, one by one."""
        return self.contents.numbers

    @property
    def consequences(self) -> tuple[str, ...]:
        """What follows from the numbers, in plain words."""
        return tuple(map(unmarked, self.contents.consequences))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is likely to disappoint, and what to change."""
        return tuple(map(unmarked, self.contents.warnings))

    @property
    def facts(self) -> dict[str, str]:
        """The numbers in words, by estimate or quantity, after cost, error and estimand."""
        found = {"cost": self._cost(), ERROR: "", ESTIMAND: ""}
        if ratios := self._ratios():
            found[ERROR] = _ratio_words(ratios)
        found |= _lines(self.numbers)
        return {name: unmarked(words) for name, words in found.items() if words}

    def _cost(self) -> str:
        if not self.priced:
            return "nothing is charged, because nothing is promised"
        return f"{self.budget}, charged by fit, once"

    def errors(self) -> dict[str, dict[str, float]]:
        """Planned errors by estimate: its numbers by quantity, in the order of the plan.

        Examples
        --------
        >>> from dprct.privacy.budget import Budget
        >>> number = PlannedNumber("std_error", 0.5, outcome="wage", term="treat")
        >>> Plan("a method", Budget(1), Contents((number,))).errors()
        {'wage: treat': {'std_error': 0.5}}
        """
        found: dict[str, dict[str, float]] = {}
        for number in self.numbers:
            if number.quantity in {STD_ERROR, WITHOUT_PRIVACY, NOISE_SD, RATIO}:
                found.setdefault(number.estimate, {})[number.quantity] = number.value
        return found

    def _ratios(self) -> list[float]:
        """Errors over those without privacy, where both are known."""
        found = []
        for errors in self.errors().values():
            without = errors.get(WITHOUT_PRIVACY, math.nan)
            if not math.isnan(errors.get(RATIO, math.nan)):
                found.append(errors[RATIO])
            elif STD_ERROR in errors and without > 0:
                found.append(errors[STD_ERROR] / without)
        return found

    def in_words(self, words: Callable[[str], str]) -> Plan:
        """Plan in the words of another language, such as those of a study file.

        Parameters
        ----------
        words : callable
            From a message to what the language says.

        Examples
        --------
        >>> from dprct.privacy.budget import Budget
        >>> plan = Plan("m", Budget(1), refusal="give ``confirm=True``")
        >>> plan.in_words(str.upper).refusal
        'GIVE CONFIRM=TRUE'
        """
        if not callable(words):
            raise ParameterError(
                f"``words`` is {given(words)}; give a function from a message to what is said"
            )
        return replace(
            self, made=lambda: self.contents.in_words(words), refusal=words(self.refusal)
        )

    def also(self, numbers: Iterable[PlannedNumber] = (), *, warnings: Iterable[str] = ()) -> Plan:
        """Plan with more numbers and warnings at its end."""

        def made() -> Contents:
            here = self.contents
            return replace(
                here,
                numbers=(*here.numbers, *numbers),
                warnings=(*here.warnings, *warnings),
            )

        return replace(self, made=made)

    def value(self, quantity: str, why: str = "", **of: str) -> float:
        """First planned number of a quantity.

        Parameters
        ----------
        why : str
            Part of what it depends on, where a plan has several of the quantity.
        of : str
            ``regression``, ``outcome`` and ``term`` of the estimate, as far as they tell.

        Raises
        ------
        ParameterError
            If there is none, or ``of`` has another name.

        Examples
        --------
        >>> from dprct.privacy.budget import Budget
        >>> number = PlannedNumber("std_error", 0.5, outcome="wage", term="treat")
        >>> Plan("a method", Budget(1), Contents((number,))).value("std_error", outcome="wage")
        0.5
        """
        for name in of:
            if name not in _OF:
                raise ParameterError.unknown(name, ("why", *_OF), "``value``")
        for one in self.numbers:
            asked = all(getattr(one, name) == wanted for name, wanted in of.items())
            if one.quantity == quantity and why in one.why and asked:
                return one.value
        named = ", ".join(dict.fromkeys(one.quantity for one in self.numbers))
        raise ParameterError(
            f"the plan has no {given(quantity)} of that kind; it has {named}, as ``to_frame()`` "
            "lists them"
        )

    def to_frame(self) -> pd.DataFrame:
        """Plan as a data frame: one row for each planned number, and for each line of words.

        Returns
        -------
        pandas.DataFrame
            Columns ``quantity``, ``value``, ``unit``, ``why``, ``regression``, ``outcome`` and
            ``term``.  Quantities that begin with ``draw_`` are of one draw of noise each, which
            ``term`` names; ``value`` is NaN where a row is words alone, which ``why`` has.

        Examples
        --------
        >>> from dprct.privacy.budget import Budget
        >>> plan = Plan("a method", Budget(1), Contents((PlannedNumber("cells", 12),)))
        >>> plan.to_frame().set_index("quantity")["value"].to_dict()
        {'epsilon': 1.0, 'delta': 0.0, 'cells': 12.0}
        """
        import pandas as pd

        names = [one.name for one in fields(PlannedNumber)]
        cost = (
            PlannedNumber("epsilon", float(self.budget.epsilon), why="of the whole fit"),
            PlannedNumber("delta", float(self.budget.delta), why="of the whole fit"),
        )
        rows = [[getattr(one, name) for name in names] for one in (*cost, *self.numbers)]
        frame = pd.DataFrame(rows, columns=names).astype({name: object for name in names})
        return frame.assign(value=frame["value"].astype(float), why=frame["why"].map(unmarked))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Picture of the expected errors beside those without privacy, one line per estimate.

        For errors at other budgets see :func:`dprct.plots.plan_errors`.
        """
        from dprct.plots import planned_errors

        errors = {
            name: (one[STD_ERROR], one.get(WITHOUT_PRIVACY, math.nan))
            for name, one in self.errors().items()
            if STD_ERROR in one
        }
        return planned_errors(errors, self.method, ax=ax)

    def check(self, *, confirm: bool) -> None:
        """Raise if the plan refuses the release, unless it is confirmed."""
        if self.refusal and not confirm:
            raise ConfirmationError(self.refusal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._value() == other._value()

    __hash__ = None  # type: ignore[assignment]

    def _value(self) -> tuple[object, ...]:
        numbers = [(repr(one.value), replace(one, value=0.0)) for one in self.numbers]  # NaN
        rest = self.contents.consequences, self.contents.warnings, self.refusal, self.file_note
        return self.method, self.budget, numbers, *rest, self.caution, self.priced

    def __reduce__(self) -> tuple[object, ...]:
        _ = self.contents  # what makes them is no part of a file
        return Plan, tuple(getattr(self, one.name) for one in fields(self))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = _WIDTH, most: int | None = None) -> str:
        """Plan as text of at most ``width`` characters a line.

        Parameters
        ----------
        most : int, optional
            Lines: cost, error, estimand and warnings stand anyway, the rest while there is room.
        """
        if width < 1:
            raise ParameterError(f"``width={width}``; give a whole number of at least 1")
        if most is not None and most < 1:
            raise ParameterError(
                f"``most={most}``; give a whole number of at least 1, or leave it out"
            )
        limit = min(width, _WIDTH)
        title = [*textwrap.wrap(self.caution, limit), f"Plan: {self.method}, {self.budget}"]
        blocks: list[list[str]] = []
        facts = self.facts
        first = max(len(name) for name in facts if len(name) <= _LABEL)
        for name, words in facts.items():
            own = len(name) > _LABEL
            body = textwrap.wrap(
                words,
                limit,
                initial_indent="  " + ("" if own else name).ljust(first + 2),
                subsequent_indent=" " * (first + 4),
            )
            blocks.append([*(textwrap.wrap(f"  {name}", limit) if own else []), *body])
        blocks += [_marked("-", text, limit) for text in self.consequences]
        needed = [_marked("!", text, limit) for text in (*self.warnings, self.refusal) if text]
        head, rest = blocks[:_HEAD], blocks[_HEAD:]
        if most is not None:
            room = most - sum(map(len, [title, *head, *needed]))
            errors = self.errors()
            named = [name in errors for name in (*facts, *self.consequences)]
            rest = _fitting(rest, named[_HEAD:], room)
        return "\n".join(line for one in (title, *head, *rest, *needed) for line in one)


def _marked(mark: str, text: str, limit: int) -> list[str]:
    return textwrap.wrap(text, limit, initial_indent=f"  {mark} ", subsequent_indent="    ")


def _fitting(blocks: Sequence[list[str]], first: Sequence[bool], room: int) -> list[list[str]]:
    """Blocks that have room, in their order; those of errors are put in before the others."""
    order = sorted(range(len(blocks)), key=lambda at: not first[at])
    sizes = accumulate(len(blocks[at]) for at in order)
    kept = {at for at, size in zip(order, sizes, strict=True) if size <= room}
    return [block for at, block in enumerate(blocks) if at in kept]


def completed(
    plan: Plan, allocation: Allocation, claimed: Budget | None, n: int, schema: Schema
) -> Plan:
    """Plan of a method with its draws of noise, and the warnings of budget and schema.

    ``claimed`` is what is promised; None where epsilon and delta are parameters and no more.
    """
    draws = (number for draw in planned_draws(allocation) for number in draw.numbers())
    more = plan.also(draws, warnings=schema.warned)
    said = "" if claimed is None else caution(claimed, n)
    return replace(plan, made=more.contents, caution=said)


def _lines(numbers: Iterable[PlannedNumber]) -> dict[str, str]:
    """Lines of a plan by label; outcomes of which the same is said share one."""
    words: dict[tuple[str, str, str], list[str]] = {}
    before = ""
    for one in numbers:
        if not one.of_draw:
            own = one.regression if one.estimate else one.quantity
            said = words.setdefault((own, one.outcome, one.term), [])
            # a quantity that is said several times has its name once
            again = bool(said) and one.estimate and one.quantity == before
            said.append(one.words().removeprefix(one.name) if again else one.words())
            before = one.quantity
    alike: dict[tuple[str, str, str], list[str]] = {}
    for (own, outcome, term), said in words.items():
        alike.setdefault((own, term, "; ".join(said)), []).append(outcome)
    found = {}
    for (own, term, line), outcomes in alike.items():
        rest = f" and {len(outcomes) - _MOST} more" if len(outcomes) > _MOST else ""
        label = own, ", ".join(outcomes[:_MOST]) + rest, term
        found[": ".join(part for part in label if part)] = line
    return found


def _ratio_words(ratios: list[float]) -> str:
    low, high = f"{min(ratios):.3g}", f"{max(ratios):.3g}"
    if len(ratios) == 1:
        return f"{low} times that without privacy"
    between = low if low == high else f"{low} to {high}"
    return f"{between} times those without privacy, of {len(ratios)} estimates"
